import { FairQueue, type Path } from './fair-queue.js';

/** After this time everything else of the process goes on: timers, sockets, answers of a database. */
const SLICE_MS = 1;
/** Work that is run in one piece and takes longer than this is followed by as long a rest. A request needs several turns. */
const LONG_PIECE_MS = 2;

/** Shares the CPU time of this process fairly. What takes long comes in pieces of at most some milliseconds. */
export class EventLoop {
  private readonly pieces = new FairQueue<() => void>();
  private isScheduled = false;
  private restsUntil = 0;

  /** `piece` never throws, and takes less than 1 ms. It may enter the next piece. */
  enter(path: Path, piece: () => void, isUrgent = false): void {
    this.pieces.enter(path, piece, isUrgent);
    if (!this.isScheduled) this.schedule();
  }

  /** Resolves with the result of the work, which has no wait in it. `signal`: nobody wants it after its abort. */
  run<Result>(path: Path, work: () => Result, { signal, isUrgent = false }: Wish = {}): Promise<Result> {
    return new Promise((resolve, reject) => {
      const piece = (): void => {
        const begin = performance.now();
        try {
          signal?.throwIfAborted();
          resolve(work());
        } catch (error) {
          reject(error);
        }
        const end = performance.now();
        if (end - begin > LONG_PIECE_MS) this.restsUntil = end + (end - begin);
      };
      this.enter(path, piece, isUrgent);
    });
  }

  private readonly work = (): void => {
    const begin = performance.now();
    let now = begin;
    while (this.pieces.size > 0 && now < begin + SLICE_MS) {
      const next = this.pieces.next();
      next?.item();
      const end = performance.now();
      next?.done(end - now);
      now = end;
    }
    this.isScheduled = false;
    if (this.pieces.size > 0) this.schedule();
  };

  private schedule(): void {
    this.isScheduled = true;
    const restMs = this.restsUntil - performance.now();
    if (restMs > 0) setTimeout(this.work, restMs);
    else setImmediate(this.work);
  }
}

interface Wish {
  readonly signal?: AbortSignal | undefined;
  readonly isUrgent?: boolean;
}

/** The process has one event loop, and thus one queue for it. */
export const eventLoop = new EventLoop();
