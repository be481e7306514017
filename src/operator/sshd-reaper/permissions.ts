import { compileNetworks, contains, type OverlappingNames, parseSource } from '../../rules/index.js';

/** The binds that an options field of authorized_keys permits. */
type Permissions = 'everything' | readonly string[];

/**
 * Whether a client from this address still has every right that it had at its login; false if the lines of then are not
 * known. `then` and `now`: the options of the lines that sshd got at the login, and would get now. sshd uses the first
 * line that admits the address.
 */
export function keepsRights(then: readonly string[] | undefined, now: readonly string[], source: string): boolean {
  const [had, has] = [then ?? [], now].map((lines) => lines.find((options) => admits(options, source)));
  if (had === undefined || has === undefined) return false;
  return covers(permissionsOf(has), permissionsOf(had));
}

/** Whether a client from this address may bind all of these, each as in `permitlisten`. Undefined: all addresses. */
export function mayBind(lines: readonly string[], source: string, binds: readonly (string | undefined)[]): boolean {
  const line = lines.find((options) => admits(options, source));
  if (line === undefined) return false;
  const permissions = permissionsOf(line);
  return binds.every(
    (listen) => permissions === 'everything' || (listen !== undefined && covers(permissions, [listen])),
  );
}

/** Whether one of these lines may permit a bind at one of the names. True if the lines are not known. */
export const mayPermit = (lines: readonly string[] | undefined, names: OverlappingNames): boolean =>
  lines === undefined ||
  lines.map(permissionsOf).some((permissions) => permissions === 'everything' || permissions.some(isAt(names)));

/** sshd writes `:*` for every port. */
const isAt =
  (names: OverlappingNames) =>
  (listen: string): boolean =>
    names.overlap(listen.replace(/:\*$/, ''));

function admits(options: string, source: string): boolean {
  const [, from] = /(?:^|,)from="([^"]*)"/.exec(options) ?? [];
  if (from === undefined) return true;
  const address = parseSource(source);
  return address !== undefined && contains(compileNetworks(from), address);
}

function permissionsOf(options: string): Permissions {
  const listens = [...options.matchAll(/permitlisten="([^"]*)"/g)].map(([, listen = '']) => listen);
  if (!/(?:^|,)port-forwarding(?:,|$)/.test(options)) return [];
  // sshd permits every bind if the options list none.
  return listens.length === 0 ? 'everything' : listens;
}

function covers(has: Permissions, had: Permissions): boolean {
  if (has === 'everything') return true;
  if (had === 'everything') return false;
  const listed = new Set(has);
  return had.every((listen) => listed.has(listen) || has.some((pattern) => includes(pattern, listen)));
}

/** Whether a pattern of sshd permits everything that the other one permits. */
function includes(pattern: string, other: string): boolean {
  const [[host, port], [otherHost, otherPort]] = [split(pattern), split(other)];
  const isSameHost = host === otherHost || (host.startsWith('*.') && otherHost.endsWith(host.slice(1)));
  return isSameHost && (port === '*' || port === otherPort);
}

function split(listen: string): readonly [host: string, port: string] {
  const colon = listen.lastIndexOf(':');
  return [listen.slice(0, colon), listen.slice(colon + 1)];
}
