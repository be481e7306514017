/** A question, or the answer to the one with this id. `id` 0: a word that wants no answer. */
type Message =
  | { readonly id: number; readonly topic: string; readonly argument: unknown }
  | { readonly id: number; readonly answer: unknown; readonly failed: boolean };

type Send = (messages: readonly Message[], sent: () => void) => void;
type Handler = (argument: never) => unknown;

/**
 * One end of the messages between the primary and a worker. Both may ask. What is sent in one turn of the event loop
 * travels together, so a busy worker sends a message for many requests.
 */
export class Channel {
  private readonly handlers = new Map<string, Handler>();
  private readonly asked = new Map<number, (message: { answer: unknown; failed: boolean }) => void>();
  private unsent: Message[] = [];
  private lastId = 0;

  constructor(private readonly send: Send) {}

  /** Answers a topic by what `handler` returns or resolves with. The type of the argument is the asker's promise. */
  on<Argument>(topic: string, handler: (argument: Argument) => unknown): void {
    this.handlers.set(topic, handler as Handler);
  }

  /** Never resolves if the other end is gone: a worker ends with its primary, and the primary bounds its waits. */
  ask<Answer>(topic: string, argument?: unknown): Promise<Answer> {
    this.lastId += 1;
    const id = this.lastId;
    return new Promise((resolve, reject) => {
      this.asked.set(id, ({ answer, failed }) =>
        failed ? reject(new Error(`${topic} failed: ${answer}`)) : resolve(answer as Answer),
      );
      this.push({ id, topic, argument });
    });
  }

  tell(topic: string, argument?: unknown): void {
    this.push({ id: 0, topic, argument });
  }

  /** Sends at once; resolves when the messages have left this process. */
  flush(): Promise<void> {
    const messages = this.unsent;
    this.unsent = [];
    return new Promise((resolve) => {
      if (messages.length === 0) resolve();
      else this.send(messages, resolve);
    });
  }

  receive(messages: readonly Message[]): void {
    for (const message of messages) {
      if ('topic' in message) void this.answer(message);
      else this.settle(message);
    }
  }

  private settle(message: { readonly id: number; readonly answer: unknown; readonly failed: boolean }): void {
    this.asked.get(message.id)?.(message);
    this.asked.delete(message.id);
  }

  private async answer({ id, topic, argument }: { id: number; topic: string; argument: unknown }): Promise<void> {
    const reply = await this.handle(topic, argument as never);
    if (id !== 0) this.push({ id, ...reply });
  }

  private async handle(topic: string, argument: never): Promise<{ answer: unknown; failed: boolean }> {
    try {
      return { answer: await this.handlers.get(topic)?.(argument), failed: false };
    } catch (error) {
      return { answer: error instanceof Error ? error.message : String(error), failed: true };
    }
  }

  private push(message: Message): void {
    if (this.unsent.length === 0) setImmediate(() => void this.flush());
    this.unsent.push(message);
  }
}
