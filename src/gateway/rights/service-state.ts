import { messageOf } from '../../kernel/error-message.js';
import type { GatewayLog } from '../gateway-log.js';

/**
 * `following`: the gateway hears of every change, permits binds and opens edges. `grace`: it may miss changes, and what
 * is open stays open for a time. `closed`: nothing is open.
 */
type State = 'following' | 'grace' | 'closed';

/** Whether the gateway hears of all changes of the service: one state for the streams of tunnels and of edges. */
export class ServiceState {
  private readonly away: Set<string>;
  private readonly actions: Record<'following' | 'closed', (() => void)[]> = { following: [], closed: [] };
  private hasBegun = false;
  private timer: NodeJS.Timeout | undefined;
  state: State = 'closed';

  /** `streams`: the names of the streams that must all be followed. */
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

  /** Calls `act` at each change to this state. For `closed` it must close everything of its kind. */
  on(state: 'following' | 'closed', act: () => void): void {
    this.actions[state].push(act);
  }

  /** Every change in this stream is heard of from now on, and earlier changes were asked about. */
  followed(stream: string): void {
    this.away.delete(stream);
    if (this.away.size === 0 && this.state !== 'following')
      this.enter('following', 'following the changes of the service');
  }

  /** Changes in this stream may be missed from now on. */
  lost(stream: string, error: unknown): void {
    this.away.add(stream);
    if (!this.hasBegun && this.state === 'closed') {
      this.hasBegun = true;
      this.log.line(
        'warn',
        { state: this.state },
        `no binds until the gateway has reached the service: ${messageOf(error)}`,
      );
    }
    if (this.state !== 'following') return;
    const stay = `what is open stays open for ${this.graceMs} ms`;
    this.enter('grace', `no binds until the service is back; ${stay}: ${messageOf(error)}`);
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** The only function that changes the state. */
  private enter(state: State, message: string): void {
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
