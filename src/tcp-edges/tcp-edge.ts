import { Problem } from '../problem.js';
import type { Backend, IpRestriction, TrafficPolicy } from './edge-modules.js';
import type { Hostport } from './hostport.js';

/**
 * Storage format: these types are what the log holds. Add fields as optional; for any other change add a new version.
 * The state is what the created event holds, so its names are the log's too and only rendering has another form.
 */
export type TcpEdgeEvent =
  | { readonly type: 'tcp_edge_created.v1'; readonly data: TcpEdge }
  | {
      readonly type: 'tcp_edge_updated.v1';
      /** Only what changed: lists and modules whole, a removed module as null. */
      readonly data: Partial<TcpEdge>;
    }
  | { readonly type: 'tcp_edge_deleted.v1'; readonly data: Readonly<Record<string, never>> };

/**
 * A hostport as an edge lists it. `canonical` is in the log beside `text`, because how hostports are read may change:
 * replay must give the rows of the day, not today's reading of an old text.
 */
export interface ListedHostport extends Hostport {
  /** Added in strict mode: no other edge of the deployment may list this hostport. Kept for as long as it stays listed. */
  readonly exclusive: boolean;
}

/** A TCP address, or several, and what happens to connections that arrive there. */
export interface TcpEdge {
  readonly description: string;
  readonly metadata: string;
  readonly hostports: readonly ListedHostport[];
  readonly backend: Backend | null;
  readonly ip_restriction: IpRestriction | null;
  readonly traffic_policy: TrafficPolicy | null;
}

export function evolve(state: TcpEdge | undefined, event: TcpEdgeEvent): TcpEdge | undefined {
  switch (event.type) {
    case 'tcp_edge_created.v1':
      return event.data;
    case 'tcp_edge_updated.v1':
      return state === undefined ? undefined : { ...state, ...event.data };
    case 'tcp_edge_deleted.v1':
      return undefined;
  }
}

/**
 * Who may decide is not asked here: an edge has no owner, and the interface puts no role on edges, so every principal
 * of the account may create, change and delete them.
 */
type Decision = (state: TcpEdge | undefined) => readonly TcpEdgeEvent[];

/** A field that was not given is empty; a module that was not given is absent. */
export const create =
  (given: Partial<TcpEdge>): Decision =>
  (state) =>
    state === undefined ? [{ type: 'tcp_edge_created.v1', data: { ...EMPTY, ...given } }] : [];

const EMPTY: TcpEdge = {
  description: '',
  metadata: '',
  hostports: [],
  backend: null,
  ip_restriction: null,
  traffic_policy: null,
};

/** An absent field stays as it is. A given module replaces the old one whole; null removes it. */
export const update =
  (changes: Partial<TcpEdge>): Decision =>
  (state) => {
    if (state === undefined) throw notFound();
    const { hostports } = changes;
    const wanted =
      hostports === undefined ? changes : { ...changes, hostports: keepClaims(hostports, state.hostports) };
    const changed = Object.entries(wanted).filter(([name, value]) => !isSame(value, state[name as keyof TcpEdge]));
    return changed.length === 0 ? [] : [{ type: 'tcp_edge_updated.v1', data: Object.fromEntries(changed) }];
  };

export const remove: Decision = (state) => {
  if (state === undefined) throw notFound();
  return [{ type: 'tcp_edge_deleted.v1', data: {} }];
};

/** The same for an unknown id and for another account's: that an edge exists is itself a secret. */
export const notFound = (): Problem => new Problem('edge_not_found', 'Resource not found');

/**
 * A hostport that stays listed keeps its claim, in whatever spelling: where strict mode was switched on later, edges that
 * have shared a hostport since before can still be edited.
 */
function keepClaims(wanted: readonly ListedHostport[], listed: readonly ListedHostport[]): ListedHostport[] {
  const claims = new Map(listed.map(({ canonical, exclusive }) => [canonical, exclusive]));
  return wanted.map((hostport) => ({ ...hostport, exclusive: claims.get(hostport.canonical) ?? hostport.exclusive }));
}

/** Equal as JSON. The order of names does not count: rows come back with another one than events. */
function isSame(a: unknown, b: unknown): boolean {
  if (!hasMembers(a) || !hasMembers(b)) return a === b;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => name in b && isSame(a[name], b[name]));
}

/** An object, or an array with its indices as names. */
const hasMembers = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
