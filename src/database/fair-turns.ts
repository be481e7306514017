import { Problem } from '../problem.js';

interface TurnLimits {
  /** Turns at once, of all accounts together and of one account. */
  readonly running: number;
  readonly runningPerAccount: number;
  /** Requests that may wait for a turn. */
  readonly waiting: number;
  readonly waitingPerAccount: number;
}

interface Line {
  running: number;
  /** In the order of arrival; each one starts a turn. */
  readonly waiting: Set<() => void>;
}

/** Gives out a few turns: to the accounts in rotation, and within an account in the order of arrival. */
export class FairTurns {
  /** Accounts with a turn or a wish for one. The account that got a turn last is the last one. */
  private readonly lines = new Map<string, Line>();
  private running = 0;
  private waiting = 0;

  constructor(private readonly limits: TurnLimits) {}

  /** Requests that wait for a turn. */
  get queued(): number {
    return this.waiting;
  }

  /** Throws Problem 429 if too many of the account wait, and 503 if too many of all accounts do. */
  refuseIfFull(accountId: string): void {
    const waiting = this.lines.get(accountId)?.waiting.size ?? 0;
    if (waiting >= this.limits.waitingPerAccount) {
      const message = `The account already has ${waiting} requests of this kind waiting on this instance; send fewer at once.`;
      throw new Problem('too_many_requests', message);
    }
    if (this.waiting >= this.limits.waiting) {
      throw new Problem('overloaded', 'Too many requests of this kind are waiting. Try again shortly.');
    }
  }

  /** Resolves when the turn begins; `end` ends it. Rejects with the signal's reason if the signal aborts before. */
  begin(accountId: string, signal: AbortSignal): Promise<void> {
    const line = this.lines.get(accountId) ?? { running: 0, waiting: new Set() };
    this.lines.set(accountId, line);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.waiting -= 1;
        line.waiting.delete(start);
        signal.removeEventListener('abort', giveUp);
      };
      const start = (): void => {
        leave();
        this.running += 1;
        line.running += 1;
        resolve();
      };
      const giveUp = (): void => {
        leave();
        this.forgetIfIdle(accountId, line);
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp);
      line.waiting.add(start);
      this.waiting += 1;
      if (signal.aborted) giveUp();
      else this.startNext();
    });
  }

  end(accountId: string): void {
    const line = this.lines.get(accountId);
    if (line === undefined) return;
    this.running -= 1;
    line.running -= 1;
    this.forgetIfIdle(accountId, line);
    this.startNext();
  }

  private forgetIfIdle(accountId: string, { running, waiting }: Line): void {
    if (running === 0 && waiting.size === 0) this.lines.delete(accountId);
  }

  /** An account that gets a turn moves to the end, where this loop meets it again. */
  private startNext(): void {
    for (const [accountId, line] of this.lines) {
      if (this.running >= this.limits.running) return;
      const [start] = line.waiting;
      if (start === undefined || line.running >= this.limits.runningPerAccount) continue;
      this.lines.delete(accountId);
      this.lines.set(accountId, line);
      start();
    }
  }
}
