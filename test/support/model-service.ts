import { isDeepStrictEqual } from 'node:util';
import type { Stop } from '../../src/gateway/sessions/open-sessions.js';
import type { ReportAnswer } from '../../src/gateway/sessions/report.js';

interface Begin {
  readonly id: string;
  readonly account_id: string;
  readonly credential_id: string;
  readonly session_id?: string;
  readonly ago_ms: number;
}

interface End {
  readonly id: string;
  readonly reason: string;
  readonly bytes_in: number | null;
  readonly connections: number | null;
}

export interface Body {
  readonly gateway_id: string;
  readonly report: number;
  readonly sessions?: readonly Begin[];
  readonly tunnels?: readonly Begin[];
  readonly used?: readonly Omit<End, 'reason'>[];
  readonly ended_tunnels?: readonly End[];
  readonly ended_sessions?: readonly End[];
  readonly edge_connections?: readonly { readonly edge_id: string; readonly hostport: string }[];
  readonly whole_since?: number;
}

interface Held {
  readonly tunnels: Set<string>;
  reported: number;
  bytesIn: number;
}

const SILENCE_MS = 15_000;
const MAX_ITEMS = 1_000;
const MAX_CHARACTERS = 400_000;
const LISTS = ['sessions', 'tunnels', 'used', 'ended_tunnels', 'ended_sessions', 'edge_connections'] as const;

/** The account of what this service refuses with 400. */
export const REFUSED_ACCOUNT = 'ac_refused';

/** A credential that this service does not know. */
export const UNKNOWN_CREDENTIAL = 'sshcr_unknown';

/** What the service answers a report, in memory and for one gateway: a second reading of the contract. */
export class ModelService {
  readonly open = new Map<string, Held>();
  /** The record of each session and tunnel that ended. */
  readonly records = new Map<string, End>();
  readonly edgeConnections: string[] = [];
  /** Whatever breaks the contract. */
  readonly faults: string[] = [];
  readonly stopped = new Set<string>();
  /** When the gateway was forgotten the last time. */
  forgottenAt = 0;
  private first: number | undefined;
  private last = 0;
  private isWhole = false;
  private heardAt = 0;
  private readonly bodies = new Map<number, object>();

  constructor(private readonly now: () => number) {}

  /** Undefined: the status is 400. */
  take(body: Body): ReportAnswer | undefined {
    if (this.refusedItem(body) !== undefined) return undefined;
    this.judge(body);
    if (this.now() - this.heardAt > SILENCE_MS) this.forget();
    this.heardAt = this.now();
    const counted = body.report > this.last;
    if (counted) this.first ??= body.report;
    const endsWhole =
      counted && this.first !== undefined && body.whole_since !== undefined && body.whole_since >= this.first;
    this.isWhole ||= endsWhole;
    const send_whole = !this.isWhole;
    if (!counted) return { counted, ignored: [], send_whole, stops: [] };
    this.last = body.report;
    const ignored = this.count(body);
    return { counted, ignored, send_whole, stops: endsWhole ? this.stops() : [] };
  }

  /** The first item that it refuses, such as `sessions[3]`. */
  refusedItem(body: Body): string | undefined {
    const isRefused = (one: object) => 'account_id' in one && one.account_id === REFUSED_ACCOUNT;
    return LISTS.flatMap((list) =>
      (body[list] ?? []).flatMap((one, n) => (isRefused(one) ? [`${list}[${n}]`] : [])),
    )[0];
  }

  stopOf(id: string, account_id = 'ac_1'): Stop {
    return { account_id, session_id: id, restart: false, by: 'Alice' };
  }

  private stops(): readonly Stop[] {
    return [...this.stopped].filter((id) => this.open.has(id)).map((id) => this.stopOf(id));
  }

  /** A report that is sent again is the same one, but for its ages and for what was refused. */
  private judge(body: Body): void {
    const ageless = JSON.parse(JSON.stringify(body, (name, value) => (name === 'ago_ms' ? undefined : value)));
    const before = this.bodies.get(body.report);
    if (before !== undefined && !isDeepStrictEqual(before, ageless)) this.faults.push(`report ${body.report} changed`);
    this.bodies.set(body.report, ageless);
    const lengths = LISTS.map((list) => body[list]?.length ?? 0);
    if (Math.max(...lengths) > MAX_ITEMS) this.faults.push(`report ${body.report} has ${lengths} items`);
    const { length } = JSON.stringify(body);
    if (length > MAX_CHARACTERS) this.faults.push(`report ${body.report} has ${length} characters`);
  }

  private forget(): void {
    for (const id of this.open.keys()) this.end({ id, reason: 'gateway_lost', bytes_in: null, connections: null });
    [this.first, this.isWhole, this.forgottenAt] = [undefined, false, this.now()];
  }

  private count(body: Body): ReportAnswer['ignored'] {
    const ignored: { id: string; reason: string }[] = [];
    const { sessions = [], tunnels = [], used = [], ended_tunnels = [], ended_sessions = [], whole_since } = body;
    for (const one of sessions) this.begin(one.id, body.report);
    for (const { id, session_id = '', credential_id } of tunnels) {
      const session = this.open.get(session_id);
      if (credential_id === UNKNOWN_CREDENTIAL) ignored.push({ id, reason: 'unknown_credential' });
      else if (session === undefined) ignored.push({ id, reason: 'unknown_session' });
      else session.tunnels.add(this.begin(id, body.report));
    }
    for (const { id, bytes_in } of used) {
      const held = this.open.get(id);
      if (held === undefined) ignored.push({ id, reason: 'unknown_session' });
      else held.bytesIn = bytes_in ?? 0;
    }
    for (const end of ended_tunnels) if (!this.end(end)) ignored.push({ id: end.id, reason: 'unknown_tunnel' });
    for (const end of ended_sessions) if (!this.end(end)) ignored.push({ id: end.id, reason: 'unknown_session' });
    this.edgeConnections.push(...(body.edge_connections ?? []).map(({ hostport }) => hostport));
    for (const [id, { reported }] of this.open) {
      if (reported < (whole_since ?? 0)) this.end({ id, reason: 'lost', bytes_in: null, connections: null });
    }
    return ignored;
  }

  private begin(id: string, reported: number): string {
    const held = this.open.get(id);
    if (held !== undefined) held.reported = reported;
    else this.open.set(id, { tunnels: new Set(), reported, bytesIn: 0 });
    const record = this.records.get(id);
    if (record === undefined) return id;
    if (record.reason !== 'gateway_lost') this.faults.push(`${id} is open again after its end: ${record.reason}`);
    this.records.delete(id);
    return id;
  }

  /** False if it is not open. The tunnels of a session end with it. */
  private end(end: End): boolean {
    const held = this.open.get(end.id);
    this.open.delete(end.id);
    if (held !== undefined) this.records.set(end.id, end);
    for (const id of held?.tunnels ?? []) this.end({ ...end, id });
    return held !== undefined;
  }
}
