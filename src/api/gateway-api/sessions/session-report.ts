import type { IdPrefix } from '../../../kernel/ids.js';
import { isId } from '../../../kernel/ids.js';
import { isJsonObject } from '../../../kernel/json-object.js';
import { malformed, quoted } from '../../../kernel/problem.js';
import { canonicalHost, MAX_LOG_BYTES, ParseError } from '../../../rules/index.js';
import { readTarget } from '../binds/gateway-requests.js';
import { toRequestForm } from '../decisions/bind-target-form.js';

/** Reads the reports of gateways. Times are the database's, so a report has ages in milliseconds. */

export const MAX_ITEMS = 1_000;
const MAX_TARGETS = 100;
const MAX_TEXT = 255;
/** Ten years. */
const MAX_AGE_MS = 315_576_000_000;

/** Counters of a session or a tunnel. Null: the gateway does not count. */
interface Traffic {
  readonly bytes_in: number | null;
  readonly bytes_out: number | null;
  readonly connections: number | null;
}

interface Item {
  readonly id: string;
  readonly account_id: string;
}

interface ReportedSession extends Item {
  readonly credential_id: string;
  readonly fingerprint: string | null;
  readonly source: string | null;
  readonly client: string | null;
  readonly ago_ms: number;
}

interface ReportedTunnel extends Item {
  readonly session_id: string;
  readonly credential_id: string;
  readonly targets: readonly object[];
  readonly ago_ms: number;
}

interface ReportedTraffic extends Item, Traffic {}

export interface ReportedEnd extends Item, Traffic {
  readonly ago_ms: number;
  readonly reason: string;
}

export interface ReportedEdgeConnection extends Pick<Traffic, 'bytes_in' | 'bytes_out'> {
  readonly account_id: string;
  readonly edge_id: string;
  readonly hostport: string;
  readonly client: string | null;
  readonly session_id: string | null;
  readonly tunnel_id: string | null;
  readonly credential_id: string | null;
  readonly ago_ms: number;
  readonly ms: number;
  readonly reason: string;
  readonly logs: readonly ReportedLog[] | null;
}

/** What an action of `log` of a traffic policy said. */
interface ReportedLog {
  readonly place: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What a gateway says of itself. The row of the gateway keeps it in this form. */
interface ReportedGateway {
  /** Each with the address where the gateway listens for it. */
  readonly hosts: readonly { readonly host: string; readonly listen_address: string }[];
}

export interface SessionReport {
  readonly gatewayId: string;
  readonly number: number;
  readonly sessions: readonly ReportedSession[];
  readonly tunnels: readonly ReportedTunnel[];
  readonly used: readonly ReportedTraffic[];
  readonly endedTunnels: readonly ReportedEnd[];
  readonly endedSessions: readonly ReportedEnd[];
  readonly edgeConnections: readonly ReportedEdgeConnection[];
  /** The report that began the whole state which ends with this report. Undefined: it ends none. */
  readonly wholeSince: number | undefined;
  readonly gateway: ReportedGateway | undefined;
}

/** The fields of a report as they are sent. */
export interface SentReport {
  readonly gateway_id?: string;
  readonly report?: unknown;
  readonly sessions?: readonly unknown[];
  readonly tunnels?: readonly unknown[];
  readonly used?: readonly unknown[];
  readonly ended_tunnels?: readonly unknown[];
  readonly ended_sessions?: readonly unknown[];
  readonly edge_connections?: readonly unknown[];
  readonly whole_since?: unknown;
  readonly gateway?: { readonly hosts?: readonly unknown[] };
}

/** Throws Problem, which names the field. */
export function readReport(sent: SentReport): SessionReport {
  const body = new Fields(sent, '');
  const number = body.integer('report', 1);
  return {
    gatewayId: body.id('gateway_id', 'gw'),
    number,
    sessions: listOf(sent, 'sessions', readSession),
    tunnels: listOf(sent, 'tunnels', readTunnel),
    used: listOf(sent, 'used', readTraffic),
    endedTunnels: listOf(sent, 'ended_tunnels', (item) => readEnd(item, 'tn')),
    endedSessions: listOf(sent, 'ended_sessions', (item) => readEnd(item, 'ts')),
    edgeConnections: listOf(sent, 'edge_connections', readEdgeConnection),
    wholeSince: sent.whole_since === undefined ? undefined : body.integer('whole_since', 1, number),
    gateway: sent.gateway && { hosts: readList(sent.gateway.hosts ?? [], 'gateway.hosts', readHost) },
  };
}

const readHost = (item: Fields) => ({ host: item.host(), listen_address: item.required('listen_address') });

const listOf = <Read>(sent: SentReport, name: keyof SentReport, read: (item: Fields) => Read): readonly Read[] =>
  readList((sent[name] ?? []) as readonly unknown[], name, read);

function readList<Read>(items: readonly unknown[], name: string, read: (item: Fields) => Read): readonly Read[] {
  if (items.length > MAX_ITEMS) throw malformed(`${name} has ${items.length} items; the maximum is ${MAX_ITEMS}.`);
  return items.map((item, n) => {
    const at = `${name}[${n}]`;
    if (!isJsonObject(item)) throw malformed(`${at} must be an object.`);
    const fields = new Fields(item, `${at}.`);
    const value = read(fields);
    fields.refuseUnread(at);
    return value;
  });
}

const readSession = (item: Fields): ReportedSession => ({
  ...itemOf(item, 'ts'),
  credential_id: item.id('credential_id', 'sshcr'),
  fingerprint: item.text('fingerprint'),
  source: item.text('source'),
  client: item.text('client'),
  ago_ms: item.age(),
});

const readTunnel = (item: Fields): ReportedTunnel => ({
  ...itemOf(item, 'tn'),
  session_id: item.id('session_id', 'ts'),
  credential_id: item.id('credential_id', 'sshcr'),
  targets: item.targets(),
  ago_ms: item.age(),
});

const readTraffic = (item: Fields): ReportedTraffic => ({
  ...itemOf(item, item.isId('tn') ? 'tn' : 'ts'),
  ...trafficOf(item),
});

const readEnd = (item: Fields, prefix: IdPrefix): ReportedEnd => ({
  ...itemOf(item, prefix),
  ...trafficOf(item),
  ago_ms: item.age(),
  reason: item.reason(),
});

const readEdgeConnection = (item: Fields): ReportedEdgeConnection => ({
  account_id: item.id('account_id', 'ac'),
  edge_id: item.id('edge_id', 'edgtcp'),
  hostport: item.required('hostport'),
  client: item.text('client'),
  session_id: item.optionalId('session_id', 'ts'),
  tunnel_id: item.optionalId('tunnel_id', 'tn'),
  credential_id: item.optionalId('credential_id', 'sshcr'),
  ago_ms: item.age(),
  ms: item.integer('ms', 0, MAX_AGE_MS),
  bytes_in: item.count('bytes_in'),
  bytes_out: item.count('bytes_out'),
  reason: item.reason(),
  logs: item.logs(),
});

const itemOf = (item: Fields, prefix: IdPrefix): Item => ({
  id: item.id('id', prefix),
  account_id: item.id('account_id', 'ac'),
});

const trafficOf = (item: Fields): Traffic => ({
  bytes_in: item.count('bytes_in'),
  bytes_out: item.count('bytes_out'),
  connections: item.count('connections'),
});

/** The fields of an object. `path` precedes their names in messages. */
class Fields {
  private readonly unread: Set<string>;
  private readonly values: Readonly<Record<string, unknown>>;

  constructor(
    value: object,
    private readonly path: string,
  ) {
    this.values = value as Record<string, unknown>;
    this.unread = new Set(Object.keys(value));
  }

  /** An unknown field may be a misspelled one: to ignore it would lose what it says. */
  refuseUnread(at: string): void {
    if (this.unread.size > 0) throw malformed(`${at} has a field that a report does not have.`);
  }

  isId(prefix: IdPrefix): boolean {
    const { id } = this.values;
    return typeof id === 'string' && isId(id, prefix);
  }

  id(name: string, prefix: IdPrefix): string {
    const value = this.take(name);
    if (typeof value === 'string' && isId(value, prefix)) return value;
    throw malformed(`${this.path}${name} must be an id that begins with ${prefix}_.`);
  }

  optionalId(name: string, prefix: IdPrefix): string | null {
    return this.isAbsent(name) ? null : this.id(name, prefix);
  }

  /** Null if it is absent. */
  text(name: string): string | null {
    if (this.isAbsent(name)) return null;
    const value = this.take(name);
    if (typeof value === 'string' && value.length <= MAX_TEXT) return value;
    throw malformed(`${this.path}${name} must be a text of at most ${MAX_TEXT} characters.`);
  }

  required(name: string): string {
    const value = this.text(name);
    if (value !== null && value !== '') return value;
    throw malformed(`${this.path}${name} is missing.`);
  }

  integer(name: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
    const value = this.take(name);
    if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
    throw malformed(`${this.path}${name} must be a whole number from ${min} to ${max}.`);
  }

  /** Null if it is absent. */
  count(name: string): number | null {
    return this.isAbsent(name) ? null : this.integer(name, 0);
  }

  /** Milliseconds since it happened. Less than 0 is a time of the future, which does not count. */
  age(): number {
    return this.integer('ago_ms', -MAX_AGE_MS, MAX_AGE_MS);
  }

  reason(): string {
    const value = this.take('reason');
    if (typeof value === 'string' && /^[a-z_]{1,64}$/.test(value)) return value;
    throw malformed(`${this.path}reason must be 1 to 64 of a-z and _.`);
  }

  /** In the form in which decisions record them. */
  targets(): readonly object[] {
    const value = this.take('targets');
    if (!Array.isArray(value) || value.length === 0 || value.length > MAX_TARGETS) {
      throw malformed(`${this.path}targets must be a list of 1 to ${MAX_TARGETS} targets.`);
    }
    return value.map((target, n) => toRequestForm(readTarget(target, `${this.path}targets[${n}]`)));
  }

  /** A canonical host. */
  host(): string {
    const value = this.required('host');
    try {
      return canonicalHost(value);
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      throw malformed(`${this.path}host ${quoted(value)} is not a host: ${error.message}.`);
    }
  }

  object(name: string): Readonly<Record<string, unknown>> {
    const value = this.take(name);
    if (isJsonObject(value)) return value;
    throw malformed(`${this.path}${name} must be an object.`);
  }

  /** Null if there are none. */
  logs(): readonly ReportedLog[] | null {
    if (this.isAbsent('logs')) return null;
    const value = this.take('logs');
    const field = `${this.path}logs`;
    if (!Array.isArray(value)) throw malformed(`${field} must be a list.`);
    const logs = value.map((log, n) => readLog(log, `${field}[${n}]`));
    const bytes = logs.reduce((sum, log) => sum + Buffer.byteLength(JSON.stringify(log)), 0);
    if (bytes > MAX_LOG_BYTES) throw malformed(`${field} has ${bytes} bytes as JSON; the maximum is ${MAX_LOG_BYTES}.`);
    return logs.length === 0 ? null : logs;
  }

  private take(name: string): unknown {
    this.unread.delete(name);
    return this.values[name];
  }

  private isAbsent(name: string): boolean {
    const value = this.take(name);
    return value === undefined || value === null;
  }
}

function readLog(value: unknown, at: string): ReportedLog {
  if (!isJsonObject(value)) throw malformed(`${at} must be an object.`);
  const log = new Fields(value, `${at}.`);
  const read = { place: log.required('place'), metadata: log.object('metadata') };
  log.refuseUnread(at);
  return read;
}
