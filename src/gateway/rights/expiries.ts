import type { ServiceState } from './service-state.js';

/** `expiresAt`: by `performance.now()`; undefined for a right that never expires. */
interface Expiring {
  readonly expiresAt?: number | undefined;
}

interface Actions<Right> {
  /** Asks the service again about these rights. Never rejects. */
  ask(rights: readonly Right[]): Promise<void>;
  /** The right has expired. */
  drop(right: Right): void;
}

/** A service that is followed tells of an expiry sooner than this. */
const TOLD_WITHIN_MS = 250;
/** How long it may take to answer that it has prolonged a right. */
const ANSWERED_WITHIN_MS = 500;
/** Node.js ends a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Ends rights when they expire, also while the service is away or hangs. */
export class Expiries<Right extends Expiring> {
  private timer: NodeJS.Timeout | undefined;
  private timerAt = Number.POSITIVE_INFINITY;
  private isChecking = false;

  constructor(
    private readonly held: ReadonlySet<Right>,
    private readonly service: Pick<ServiceState, 'isFollowing'>,
    private readonly actions: Actions<Right>,
  ) {}

  /** Called for each right that is held, and when it has another expiry. */
  watch({ expiresAt = Number.POSITIVE_INFINITY }: Right): void {
    const at = expiresAt + this.patienceMs;
    if (at >= this.timerAt) return;
    this.stop();
    this.timerAt = at;
    const ms = Math.min(MAX_TIMER_MS, Math.ceil(at - performance.now()));
    this.timer = setTimeout(() => void this.check(), ms).unref();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timerAt = Number.POSITIVE_INFINITY;
  }

  private async check(): Promise<void> {
    this.stop();
    if (this.isChecking) return;
    this.isChecking = true;
    const { held, actions, patienceMs } = this;
    const over = [...held].filter((right) => isOver(right, patienceMs));
    if (over.length > 0 && this.service.isFollowing) await Promise.race([actions.ask(over), patience()]);
    for (const right of over) if (held.has(right) && isOver(right, 0)) actions.drop(right);
    this.isChecking = false;
    for (const right of held) this.watch(right);
  }

  private get patienceMs(): number {
    return this.service.isFollowing ? TOLD_WITHIN_MS : 0;
  }
}

const patience = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ANSWERED_WITHIN_MS).unref());

const isOver = ({ expiresAt = Number.POSITIVE_INFINITY }: Expiring, patienceMs: number): boolean =>
  expiresAt + patienceMs <= performance.now();
