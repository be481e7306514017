import { get, type IncomingMessage } from 'node:http';
import { stopAtEnd } from './leftovers.js';

export interface Message {
  readonly id: number;
  /** The type of the event; `message` if the stream names none. */
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every type
  readonly data: any;
}

/** One connection to a live feed, read as a browser's EventSource reads it. */
export class EventStream {
  readonly messages: Message[] = [];
  /** The id of the last block with an id, with or without data. */
  lastEventId = '';
  comments = 0;
  private rest = '';
  readonly ended: Promise<'ended' | 'cut'>;

  private constructor(readonly response: IncomingMessage) {
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.take(text));
    this.ended = new Promise((resolve) => {
      response.once('end', () => resolve('ended'));
      response.once('error', () => resolve('cut'));
      response.once('close', () => resolve('cut'));
    });
    stopAtEnd(async () => void response.destroy());
  }

  static open(url: string, token: string, headers: Record<string, string> = {}): Promise<EventStream> {
    const all = { accept: 'text/event-stream', authorization: `Bearer ${token}`, ...headers };
    return new Promise((resolve, reject) => {
      const request = get(url, { headers: all, agent: false }, (response) => resolve(new EventStream(response)));
      request.once('error', reject);
    });
  }

  close(): void {
    this.response.destroy();
  }

  /** Resolves once there are this many messages. */
  async until(count: number): Promise<void> {
    while (this.messages.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  private take(text: string): void {
    const blocks = `${this.rest}${text}`.split('\n\n');
    this.rest = blocks.pop() ?? '';
    for (const block of blocks) this.takeBlock(block.split('\n'));
  }

  private takeBlock(lines: readonly string[]): void {
    const textOf = (field: string): string | undefined =>
      lines.find((line) => line.startsWith(`${field}: `))?.slice(field.length + 2);
    this.comments += lines.filter((line) => line.startsWith(':')).length;
    this.lastEventId = textOf('id') ?? this.lastEventId;
    const data = textOf('data');
    if (data !== undefined)
      this.messages.push({ id: Number(this.lastEventId), event: textOf('event') ?? 'message', data: JSON.parse(data) });
  }
}
