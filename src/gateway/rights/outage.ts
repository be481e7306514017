import { messageOf } from '../../kernel/error-message.js';
import type { GatewayLog } from '../gateway-log.js';

/**
 * `following`: every change is heard of. `grace`: changes may be missed, and what is open stays for a time. `closed`:
 * nothing is open. Binds are permitted and edges are opened only while following.
 */
export type OutageState = 'following' | 'grace' | 'closed';

/** Whether the gateway hears of all changes of its service: one state for tunnels and edges, whatever streams they have. */
export class Outage {
  private readonly away: Set<string>;
  private readonly actions: Record<'following' | 'closed', (() => void)[]> = { following: [], closed: [] };
  private hasBegun = false;
  private timer: NodeJS.Timeout | undefined;
  state: OutageState = 'closed';

  /** `streams`: the names of those that must all be followed. */
  constructor(
    private readonly log: GatewayLog,
    private readonly graceMs: number,
    streams: readonly string[],
  ) {
    this.away = new Set(streams);
  }

  get isFollowing(): boolean {
    return this.state === 'following';
  }

  /** Acts at each change to this state. For `closed` it ends everything of a kind that is open. */
  on(state: 'following' | 'closed', act: () => void): void {
    this.actions[state].push(act);
  }

  /** Every change that this stream tells is heard of from now on, and all before it were asked about. */
  followed(stream: string): void {
    this.away.delete(stream);
    if (this.away.size === 0 && this.state !== 'following')
      this.enter('following', 'following the changes of the service');
  }

  /** Changes that this stream tells may be missed from now on. */
  lost(stream: string, error: unknown): void {
    this.away.add(stream);
    if (!this.hasBegun && this.state === 'closed') {
      this.hasBegun = true;
      this.log.line('warn', { state: this.state }, `no binds until the service is there: ${messageOf(error)}`);
    }
    if (this.state !== 'following') return;
    const stay = `what is open stays for ${this.graceMs} ms`;
    this.enter('grace', `no binds until the service is back, ${stay}: ${messageOf(error)}`);
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** The only change of the state. */
  private enter(state: OutageState, message: string): void {
    this.state = state;
    this.hasBegun = true;
    clearTimeout(this.timer);
    if (state === 'grace') {
      const tooLong = 'the service was away for too long: closing all tunnels and edges';
      this.timer = setTimeout(() => this.enter('closed', tooLong), this.graceMs).unref();
    }
    const level = { following: 'info', grace: 'warn', closed: 'error' } as const;
    this.log.line(level[state], { state }, message);
    if (state !== 'grace') for (const act of this.actions[state]) act();
  }
}
