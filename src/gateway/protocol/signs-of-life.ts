import { Violation } from './violation.js';

/** How long a client has for a sign of life. */
const MAX_ANSWER_MS = 2_000;
const KEEPALIVES = 3;

interface Peer {
  /** Nothing is read from the client, so its silence means nothing. */
  readonly isPaused: boolean;
  /** Sends a request that every client answers. */
  ping(): void;
}

interface Question {
  readonly answer: Promise<boolean>;
  readonly answered: (isAlive: boolean) => void;
  readonly timer: NodeJS.Timeout;
  isLate: boolean;
}

/** Whether a client is still there: each byte that arrives is a sign of life, and a question asks for one. */
export class SignsOfLife {
  /** There is one at a time, however many wait for its answer. It stays without an answer until a byte arrives. */
  private question: Question | undefined;
  private hasBeenHeard = false;
  private silentBeats = 0;

  constructor(private readonly peer: Peer) {}

  /** A byte arrived. */
  heard(): void {
    this.hasBeenHeard = true;
    this.settle(true);
  }

  /** Nothing arrives any more. */
  closed(): void {
    this.settle(false);
  }

  /** The last question has had no answer for two seconds. */
  get isSilent(): boolean {
    return this.question?.isLate === true && !this.peer.isPaused;
  }

  /** Asks for a sign of life. Resolves with false if none came within two seconds. */
  async isAlive(): Promise<boolean> {
    if (this.peer.isPaused) return true;
    this.question ??= this.newQuestion();
    return this.question.answer;
  }

  /** Called at each keepalive. Throws Violation if the client was silent for too many. */
  beat(): void {
    this.silentBeats = this.hasBeenHeard || this.peer.isPaused ? 0 : this.silentBeats + 1;
    this.hasBeenHeard = false;
    if (this.silentBeats > KEEPALIVES)
      throw new Violation('lost', `gave no sign of life for the time of ${KEEPALIVES} keepalives`);
    if (this.silentBeats > 0) void this.isAlive();
  }

  private newQuestion(): Question {
    let answered: Question['answered'] = () => undefined;
    const answer = new Promise<boolean>((resolve) => {
      answered = resolve;
    });
    // A busy gateway first reads what arrived in time.
    const timer = setTimeout(() => setImmediate(() => this.late(question)), MAX_ANSWER_MS).unref();
    const question = { answer, answered, timer, isLate: false };
    this.peer.ping();
    return question;
  }

  private late(question: Question): void {
    question.isLate = true;
    question.answered(false);
  }

  private settle(isAlive: boolean): void {
    clearTimeout(this.question?.timer);
    this.question?.answered(isAlive);
    this.question = undefined;
  }
}
