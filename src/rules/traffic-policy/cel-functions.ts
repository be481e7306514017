import { type Address, parseAddress } from '../ip-rules/address.js';
import { type Network, networkAround } from '../ip-rules/network.js';
import { type CelNode, DURATION, TIMESTAMP } from './cel.js';
import { matchesPattern, type Pattern } from './pattern.js';
import { inZone, parseTime, TIME_FIELDS, timeZone } from './time-fields.js';

/** What texts of a policy mean, read once with the policy. */
export interface Readings {
  readonly networks: Map<string, Network>;
  readonly patterns: Map<string, Pattern>;
}

/** What functions see while an expression is evaluated. */
export interface Running {
  readings: Readings;
  /** The addresses of the connection, by their texts. */
  addresses: ReadonlyMap<string, Address>;
}

/**
 * The size that a value can have at most: characters of a text, elements of a list, entries of a map; 0 for any other.
 * `read`: it is an address of the connection, or stands in the policy as a network, so that no call must read it again.
 */
export interface Bound {
  readonly size: number;
  readonly item?: Bound;
  readonly read?: 'address' | 'network' | undefined;
}

/** All that a value consists of, in steps. */
export const weightOf = ({ size, item }: Bound): number =>
  item === undefined ? size / 16 : size * (1 + weightOf(item));

const NUMBER: Bound = { size: 0 };
/** The longest spelling of a number: the seconds of a long duration that is doubled again and again. */
const MAX_DIGITS = 128;
/** Some characters have three in the other case. */
const MAX_CASE_GROWTH = 3;
const READ_STEPS = 3;
const PARSE_STEPS = 40;
export const isAddress = (bound: Bound | undefined): boolean => bound?.read === 'address';
const isNetwork = (bound: Bound | undefined): boolean => bound?.read === 'network';
const addressSteps = (ip: Bound): number => (isAddress(ip) ? READ_STEPS : PARSE_STEPS);
const networkSteps = (cidr: Bound): number => (isNetwork(cidr) ? READ_STEPS : PARSE_STEPS);

/** A function of CEL or of the public documents that a policy may call. */
export interface KnownFunction {
  /** How many steps a call takes at most, with arguments of this size; a receiver is the first argument. */
  readonly steps: (...args: Bound[]) => number;
  readonly result: (...args: Bound[]) => Bound;
  readonly mayFail?: (...args: Bound[]) => boolean;
  /** This library has the function, cel-js has none, or one with another meaning. */
  readonly isOwn?: boolean;
  /** The last argument is read with the policy; a pattern or a zone must stand there, a network may be computed. */
  readonly reads?: 'pattern' | 'zone' | 'network';
  /** The most characters of the first argument. */
  readonly longest?: number;
}

const number = (): Bound => NUMBER;
const known = (steps: KnownFunction['steps'], result: KnownFunction['result'], more: Partial<KnownFunction> = {}) => ({
  steps,
  result,
  ...more,
});

const NOTHING: Bound = { size: 0 };
const size = known((of = NOTHING) => (of.item === undefined ? of.size / 16 : 0.5), number);
const edge = known((a = NOTHING, b = NOTHING) => Math.min(a.size, b.size) / 32, number);
const search = known((a = NOTHING, b = NOTHING) => a.size / 32 + (a.size * b.size) / 128, number);
const otherCase = known(
  ({ size }: Bound = NOTHING) => size / 8,
  ({ size }: Bound = NOTHING) => ({ size: size * MAX_CASE_GROWTH }),
  { isOwn: true },
);
const fails = (): boolean => true;
const conversion = known((of = NOTHING) => 3 + of.size / 4, number, { mayFail: fails });
const joined = known(
  (list = NOTHING, separator = NOTHING) => 1 + weightOf(list) + (list.size * separator.size) / 16,
  ({ size, item = NOTHING } = NOTHING, separator = NOTHING) => ({ size: size * (item.size + separator.size) }),
);
/** `matches` takes this many steps for each character and each state of the pattern, which the caller multiplies. */
const PATTERN_STEPS = 0.5;
const matching = known(({ size } = NOTHING) => (size + 1) * PATTERN_STEPS, number, { isOwn: true, reads: 'pattern' });

const isPrivate = known((ip = NOTHING) => 20 + addressSteps(ip), number, {
  isOwn: true,
  mayFail: (ip) => !isAddress(ip),
});

/** The functions that are called as `name(...)`, by name and number of arguments. */
export const FUNCTIONS: Readonly<Record<string, KnownFunction>> = {
  'size/1': size,
  // cel-js reads no text as 0, and a double of any size.
  'int/1': { ...conversion, isOwn: true },
  'double/1': conversion,
  'bool/1': conversion,
  'string/1': known(
    ({ size } = NOTHING) => 3 + size / 16,
    ({ size } = NOTHING) => ({ size: size === 0 ? MAX_DIGITS : size }),
  ),
  'timestamp/1': known(() => 20, number, { isOwn: true, mayFail: fails }),
  // A longer duration is a number of more digits than MAX_DIGITS.
  'duration/1': known(({ size } = NOTHING) => 20 + size * 10, number, { mayFail: fails, longest: 64 }),
  'matches/2': matching,
  'isPrivateIp/1': isPrivate,
  'inCidrRange/2': known((ip = NOTHING, cidr = NOTHING) => addressSteps(ip) + networkSteps(cidr), number, {
    isOwn: true,
    mayFail: (ip, cidr) => !isAddress(ip) || !isNetwork(cidr),
    reads: 'network',
  }),
  'inCidrRanges/2': known(
    (ip = NOTHING, { size, item = NOTHING } = NOTHING) => addressSteps(ip) + size * networkSteps(item),
    number,
    { isOwn: true, mayFail: (ip, list) => !isAddress(ip) || !isNetwork(list?.item), reads: 'network' },
  ),
};

const inUtc = known(() => 3, number);
const inNamedZone = known(() => 100, number, { isOwn: true, reads: 'zone' });

/** The functions that are called as `receiver.name(...)`, by name and number of arguments without the receiver. */
export const METHODS: Readonly<Record<string, KnownFunction>> = {
  'size/0': size,
  'startsWith/1': edge,
  'endsWith/1': edge,
  'contains/1': search,
  'indexOf/1': search,
  'matches/1': matching,
  'lower/0': otherCase,
  'upper/0': otherCase,
  'split/1': known(
    (text = NOTHING, separator = NOTHING) => text.size + (text.size * separator.size) / 128,
    ({ size } = NOTHING) => ({ size: size + 1, item: { size } }),
  ),
  'join/0': joined,
  'join/1': joined,
  'isPrivateIp/0': isPrivate,
  ...Object.fromEntries(Object.keys(TIME_FIELDS).map((name) => [`${name}/0`, inUtc])),
  ...Object.fromEntries(Object.keys(TIME_FIELDS).map((name) => [`${name}/1`, inNamedZone])),
  // cel-js counts the days by the clock of the process, and gives all milliseconds of a duration.
  'getDayOfYear/0': { ...inUtc, isOwn: true },
  'getMilliseconds/0': { ...inUtc, isOwn: true },
};

/**
 * Gives the calls of functions that this library has itself their names here, which end with _: cel-js does not let a
 * function of its own be replaced.
 */
export function useOwnFunctions(node: CelNode): void {
  const table = node.op === 'call' ? FUNCTIONS : METHODS;
  if (node.op === 'call' || node.op === 'rcall') {
    const args = node.op === 'call' ? node.args[1] : node.args[2];
    if (table[`${node.args[0]}/${args.length}`]?.isOwn === true) node.args[0] += '_';
  }
  useOwnFunctionsIn(node.args);
}

/** The arguments of a node: nodes, lists and pairs of nodes, or a plain value. */
function useOwnFunctionsIn(part: unknown): void {
  if (Array.isArray(part)) for (const one of part) useOwnFunctionsIn(one);
  else if (isNode(part)) useOwnFunctions(part);
}

const isNode = (part: unknown): part is CelNode => typeof part === 'object' && part !== null && 'op' in part;

/** The part of cel-js that takes functions. */
interface Registry {
  registerFunction(signature: string, handler: (...args: never[]) => unknown, options: { async: boolean }): unknown;
}

/** As in IsPrivate of Go, which the public service is written in. */
const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'].flatMap(
  (cidr) => networkAround(cidr) ?? [],
);

/** Registers the functions of this library. */
export function registerFunctions(registry: Registry, running: Running): void {
  const add = (signature: string, handler: (...args: never[]) => unknown) =>
    registry.registerFunction(signature, handler, { async: false });
  const addressOf = (ip: string): Address => {
    const address = running.addresses.get(ip) ?? parseAddress(ip);
    if (address === undefined) throw new RangeError('an address is not one such as 192.0.2.1 or 2001:db8::1');
    return address;
  };
  const networkOf = (cidr: string): Network => {
    const network = running.readings.networks.get(cidr) ?? networkAround(cidr);
    if (network === undefined) throw new RangeError('a network is not one such as 192.0.2.0/24 or 2001:db8::/32');
    return network;
  };
  const inRanges = (ip: string, cidrs: readonly string[]): boolean => {
    const address = addressOf(ip);
    return cidrs.some((cidr) => holds(networkOf(cidr), address));
  };
  const isMatch = (text: string, pattern: string): boolean => {
    const compiled = running.readings.patterns.get(pattern);
    if (compiled === undefined) throw new RangeError('the pattern is not read');
    return matchesPattern(compiled, text);
  };
  add('inCidrRange_(string, string): bool', (ip: string, cidr: string) => inRanges(ip, [cidr]));
  add('inCidrRanges_(string, list<string>): bool', inRanges);
  const isPrivateIp = (ip: string): boolean => {
    const address = addressOf(ip);
    return PRIVATE.some((network) => holds(network, address));
  };
  // In both forms, since the public documents list it beside inCidrRange.
  add('isPrivateIp_(string): bool', isPrivateIp);
  add('string.isPrivateIp_(): bool', isPrivateIp);
  add('matches_(string, string): bool', isMatch);
  add('string.matches_(string): bool', isMatch);
  add('string.lower_(): string', (text: string) => text.toLowerCase());
  add('string.upper_(): string', (text: string) => text.toUpperCase());
  const int64 = (value: bigint): bigint => {
    if (BigInt.asIntN(64, value) !== value) throw new RangeError('int() gives an integer of 64 bits');
    return value;
  };
  add('int_(int): int', int64);
  add('int_(uint): int', ({ value }: { value: bigint }) => int64(value));
  add('int_(double): int', (value: number) => int64(BigInt(Math.trunc(value))));
  add('int_(string): int', (text: string) => {
    if (!/^[+-]?\d+$/.test(text)) throw new RangeError('int() takes a text such as 42');
    return int64(BigInt(text.replace('+', '')));
  });
  registerTimes(add);
}

const holds = (network: Network, { bits, value }: Address): boolean =>
  network.bits === bits && network.value === value >> network.hostBits;

/** Of the years 1 to 9999. */
const [FIRST_SECOND, LAST_SECOND] = [-62_135_596_800n, 253_402_300_799n];

function registerTimes(add: (signature: string, handler: (...args: never[]) => unknown) => unknown): void {
  for (const [name, field] of Object.entries(TIME_FIELDS)) {
    add(`${TIMESTAMP}.${name}_(string): int`, (date: Date, name: string) => {
      const zone = timeZone(name);
      if (zone === undefined) throw new RangeError('the time zone is not read');
      return BigInt(field(inZone(date, zone)));
    });
  }
  add(`${TIMESTAMP}.getDayOfYear_(): int`, (date: Date) => BigInt(TIME_FIELDS.getDayOfYear(date)));
  add(`${TIMESTAMP}.getMilliseconds_(): int`, (date: Date) => BigInt(date.getUTCMilliseconds()));
  add(`${DURATION}.getMilliseconds_(): int`, ({ nanos }: { nanos: number }) => BigInt(Math.trunc(nanos / 1e6)));
  add(`timestamp_(string): ${TIMESTAMP}`, (text: string) => {
    const time = parseTime(text);
    if (time === undefined) throw new RangeError('timestamp() takes a time such as 2024-01-31T08:00:00Z');
    return time;
  });
  add(`timestamp_(int): ${TIMESTAMP}`, (seconds: bigint) => {
    if (seconds < FIRST_SECOND || seconds > LAST_SECOND) {
      throw new RangeError('timestamp() takes seconds since 1970 of a year from 1 to 9999');
    }
    return new Date(Number(seconds) * 1000);
  });
}
