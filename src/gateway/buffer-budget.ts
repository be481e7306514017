import type { GatewayLog } from './gateway-log.js';
import type { GatewayPart } from './gateway-part.js';
import { Violation } from './protocol/violation.js';

/** A connection of a client, as the budget sees it. */
export interface BufferHolder {
  readonly credentialId: string;
  /** Everything that it holds in memory. */
  readonly bufferedBytes: number;
  /** The connection is gone. It counts until it holds nothing. */
  readonly isOver: boolean;
  /** Its client is not read. */
  hold(): void;
  release(): void;
  /** Ends what holds most of it: a connection through a tunnel, or the client's own. */
  shed(reason: Violation): void;
}

const LOOK_EVERY_MS = 100;
/** A credential alone has this part of the budget. */
const SHARE = 1 / 8;
/** Who waits goes on below this part of its limit. */
const ENOUGH = 3 / 4;
/** Who has waited so long without going below its limit holds what nobody takes. */
const MAX_WAIT_MS = 3_000;

/**
 * The bytes that wait in this process for slow readers, of all connections together. Above the budget, or its share of
 * it, the credential that holds most is not read; if that does not help, what holds most of it ends, until it holds less.
 */
export class BufferBudget implements GatewayPart {
  private readonly holders = new Set<BufferHolder>();
  /** Since when a credential waits. */
  private readonly waiting = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  /** As of the last look. */
  bufferedBytes = 0;

  constructor(
    readonly maxBytes: number,
    private readonly log: GatewayLog,
  ) {}

  async start(): Promise<void> {
    this.timer = setInterval(() => this.look(), LOOK_EVERY_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
  }

  add(holder: BufferHolder): void {
    this.holders.add(holder);
    if (this.waiting.has(holder.credentialId)) holder.hold();
  }

  /** Called by the timer. */
  look(now = performance.now()): void {
    const held = new Map<string, number>();
    this.bufferedBytes = 0;
    for (const holder of this.holders) {
      const { credentialId, bufferedBytes, isOver } = holder;
      if (isOver && bufferedBytes === 0) this.holders.delete(holder);
      held.set(credentialId, (held.get(credentialId) ?? 0) + bufferedBytes);
      this.bufferedBytes += bufferedBytes;
    }
    for (const credentialId of this.tooLarge(held)) this.wait(credentialId, now);
    for (const [credentialId, since] of this.waiting)
      this.review(credentialId, held.get(credentialId) ?? 0, now - since);
  }

  /** Those above their share, and the largest one while all together are above the budget. */
  private tooLarge(held: ReadonlyMap<string, number>): readonly string[] {
    const above = [...held].filter(([, bytes]) => bytes > this.share).map(([credentialId]) => credentialId);
    if (this.bufferedBytes <= this.maxBytes || above.length > 0) return above;
    const [largest] = [...held].sort(([, one], [, other]) => other - one);
    return largest === undefined ? [] : [largest[0]];
  }

  private get share(): number {
    return this.maxBytes * SHARE;
  }

  private wait(credentialId: string, now: number): void {
    if (this.waiting.has(credentialId)) return;
    this.waiting.set(credentialId, now);
    for (const holder of this.of(credentialId)) holder.hold();
    this.log.line(
      'warn',
      { credential: credentialId },
      'a credential is not read: its tunnels hold too many bytes that nobody takes',
    );
  }

  private review(credentialId: string, bytes: number, waitedMs: number): void {
    if (bytes < this.share * ENOUGH && this.bufferedBytes < this.maxBytes) {
      this.waiting.delete(credentialId);
      for (const holder of this.of(credentialId)) holder.release();
    } else if (waitedMs > MAX_WAIT_MS) {
      const [largest] = this.of(credentialId).sort((one, other) => other.bufferedBytes - one.bufferedBytes);
      const share = `of ${Math.floor(this.share)} bytes, its share of GATEWAY_MAX_BUFFERED_BYTES`;
      largest?.shed(new Violation('memory', `held ${largest.bufferedBytes} bytes ${share}, which nobody took`));
    }
  }

  private of(credentialId: string): BufferHolder[] {
    return [...this.holders].filter((holder) => holder.credentialId === credentialId);
  }
}
