import type { Transport } from './transport.js';

/** False: the request is refused. A number: the port that is bound. */
export type Answer = boolean | number;

interface Request {
  readonly wantsReply: boolean;
  /** Whether the answer names the port. */
  readonly namesPort: boolean;
  answer: Answer | undefined;
  /** Called when every earlier request has its answer. */
  readonly act: (() => Answer) | undefined;
}

/** The requests of a client without an answer. The gateway answers them in their order, as RFC 4254 demands. */
export class GlobalRequests {
  private readonly waiting: Request[] = [];
  private isFull = false;

  constructor(
    private readonly transport: Transport,
    private readonly max: number,
    private readonly overflowed: () => void,
  ) {}

  /** `ask` is called at once. If it rejects, the connection ends. */
  add(wantsReply: boolean, namesPort: boolean, ask: () => Promise<Answer>): void {
    const request: Request = { wantsReply, namesPort, answer: undefined, act: undefined };
    if (!this.push(request)) return;
    ask()
      .then((answer) => {
        request.answer = answer;
        this.flush();
      })
      .catch((error) => this.transport.fail(error));
  }

  /** `act` is called once every earlier request has its answer. */
  addLast(wantsReply: boolean, act: () => Answer): void {
    if (this.push({ wantsReply, namesPort: false, answer: undefined, act })) this.flush();
  }

  /** The number is limited: each request holds memory, and a client can send them without reading an answer. */
  private push(request: Request): boolean {
    if (this.isFull) return false;
    this.isFull = this.waiting.length >= this.max;
    if (this.isFull) this.overflowed();
    else this.waiting.push(request);
    return !this.isFull;
  }

  private flush(): void {
    for (let first = this.waiting[0]; first !== undefined; first = this.waiting[0]) {
      first.answer ??= first.act?.();
      if (first.answer === undefined) return;
      this.waiting.shift();
      if (first.wantsReply) this.reply(first.answer, first.namesPort);
    }
  }

  private reply(answer: Answer, namesPort: boolean): void {
    this.transport.send((protocol) => {
      if (answer === false) protocol.requestFailure();
      else protocol.requestSuccess(namesPort && typeof answer === 'number' ? uint32(answer) : undefined);
    });
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
