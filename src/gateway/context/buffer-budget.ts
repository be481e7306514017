import type { GatewayLog } from '../gateway-log.js';
import type { GatewayPart } from '../gateway-part.js';
import { Violation } from '../protocol/violation.js';

/** A connection of a client, as the budget sees it. */
export interface BufferHolder {
  readonly credentialId: string;
  /** The bytes that it holds in memory. */
  readonly bufferedBytes: number;
  /** Whether the connection is gone. It still counts until it holds no bytes. */
  readonly isOver: boolean;
  /** Stops reading from its client, until `resume`. */
  pause(): void;
  resume(): void;
  /** Ends the connection through a tunnel that holds the most bytes, or else the connection of the client. */
  shed(reason: Violation): void;
}

const LOOK_EVERY_MS = 100;
/** The part of the budget that one credential may hold. */
const SHARE = 1 / 8;
/**
 * A paused credential is read again once it holds less than this part of its share, and all together hold less than
 * the budget.
 */
const ENOUGH = 3 / 4;
/** If a credential is paused for longer, its largest connection ends: nobody takes these bytes. */
const MAX_PAUSE_MS = 3_000;

/**
 * Limits the bytes that wait in this process for slow readers. A credential is paused when it holds more than its
 * share, and the one that holds most is paused when all together hold more than the budget. If a pause does not help,
 * the largest connection of the credential ends, until the credential holds less.
 */
export class BufferBudget implements GatewayPart {
  private readonly holders = new Set<BufferHolder>();
  /** When each paused credential was paused. */
  private readonly paused = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  /** The sum at the last look. */
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
    if (this.paused.has(holder.credentialId)) holder.pause();
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
    for (const credentialId of this.tooLarge(held)) this.pause(credentialId, now);
    for (const [credentialId, since] of this.paused)
      this.review(credentialId, held.get(credentialId) ?? 0, now - since);
  }

  /** The credentials above their share. If there are none and the sum is above the budget: the largest credential. */
  private tooLarge(held: ReadonlyMap<string, number>): readonly string[] {
    const above = [...held].filter(([, bytes]) => bytes > this.share).map(([credentialId]) => credentialId);
    if (this.bufferedBytes <= this.maxBytes || above.length > 0) return above;
    const [largest] = [...held].sort(([, one], [, other]) => other - one);
    return largest === undefined ? [] : [largest[0]];
  }

  private get share(): number {
    return this.maxBytes * SHARE;
  }

  private pause(credentialId: string, now: number): void {
    if (this.paused.has(credentialId)) return;
    this.paused.set(credentialId, now);
    for (const holder of this.of(credentialId)) holder.pause();
    this.log.line(
      'warn',
      { credential: credentialId },
      'the gateway reads nothing more from a credential: its tunnels hold too many bytes that nobody takes',
    );
  }

  private review(credentialId: string, bytes: number, pausedMs: number): void {
    if (bytes < this.share * ENOUGH && this.bufferedBytes < this.maxBytes) {
      this.paused.delete(credentialId);
      for (const holder of this.of(credentialId)) holder.resume();
    } else if (pausedMs > MAX_PAUSE_MS) {
      const [largest] = this.of(credentialId).sort((one, other) => other.bufferedBytes - one.bufferedBytes);
      const share = `of ${Math.floor(this.share)} bytes, its share of GATEWAY_MAX_BUFFERED_BYTES`;
      largest?.shed(new Violation('memory', `held ${largest.bufferedBytes} bytes ${share}, which nobody took`));
    }
  }

  private of(credentialId: string): BufferHolder[] {
    return [...this.holders].filter((holder) => holder.credentialId === credentialId);
  }
}
