import { type BindRule, parseBindRule } from '../../../rules/index.js';
import type { ListenPattern, Narrowing } from '../../reservations/reservation.js';

/**
 * The lines that stock sshd gets for a key. sshd's options can express less than our rules, so the lines are sometimes
 * narrower than the rules but never wider: `authorize` permits every bind that they allow.
 */

/** A live credential of the key that logs in. All credentials of an answer have the same key. */
export interface AuthorizedCredential {
  readonly id: string;
  readonly version: number;
  readonly keyType: string;
  /** Base64 of the wire form. */
  readonly keyBlob: string;
  readonly acl: readonly string[];
  /** Canonical networks, joined by commas; null: from anywhere. */
  readonly sources: string | null;
  /** `YYYYMMDDHHMMSS` in UTC; null: never. */
  readonly expiresAt: string | null;
}

/**
 * sshd refuses a key with more permitlistens on a line. Those of the first rules of a key count, from the oldest
 * credential on, so that an added rule cannot displace a working one. All lines share the maximum, so no restriction makes an answer
 * long.
 */
export const MAX_PERMIT_LISTENS = 4096;

/** The two spellings of the rule that permits everything. */
const EVERYTHING: ReadonlySet<string> = new Set(['*', 'bind:*']);
const KEY_TYPE = /^[a-z0-9@.-]+$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const ID = /^[A-Za-z0-9_-]+$/;
const VERSION = /^\d+$/;
const NETWORKS = /^[0-9a-f.:]+\/\d+(?:,[0-9a-f.:]+\/\d+)*$/;
const TIME = /^\d{14}$/;
/** A canonical host, with or without `*.`, or `*`; and a port or `*`. Its characters cannot end the quoted option. */
const PERMIT_LISTEN = /^(?:(?:\*\.)?[a-z0-9_.-]+|\[[0-9a-f:.]+\]|\*(?!:\*)):(?:\d{1,5}|\*)$/;

type Credentials = readonly [AuthorizedCredential, ...AuthorizedCredential[]];

/**
 * The lines of authorized_keys for one key. sshd uses the first line of the key that admits the client's address and the
 * time, so each source restriction has a line, and a last line is for all other clients. A line has the union of its
 * credentials' permissions, oldest first: those with its restriction, and those without any.
 */
export function authorizedKeys(credentials: Credentials, narrowing: Narrowing): string {
  const key = keyOf(credentials);
  const unrestricted = credentials.filter(({ sources }) => sources === null);
  const restrictions = new Set(credentials.flatMap(({ sources }) => sources ?? []));
  const own = ownByHost(credentials, narrowing);
  let remaining = MAX_PERMIT_LISTENS;
  const lineOf = (from: string | null, admitted: readonly AuthorizedCredential[]): string => {
    const permitsAll = narrowing.isAllFree && admitted.some(permitsEverything);
    const listens = permitsAll ? [] : firstListensOf(admitted, remaining, narrowing, own);
    // Without a line of their own, clients from these networks get the last line.
    if (admitted.length === 0 || (remaining === 0 && !permitsAll)) return '';
    remaining -= listens.length;
    return `${optionsOf(from, admitted, listens, permitsAll)} ${key}\n`;
  };
  const lastLine = lineOf(null, unrestricted);
  const lines = [...restrictions].map((from) => {
    return lineOf(
      from,
      credentials.filter(({ sources }) => sources === null || sources === from),
    );
  });
  return lines.join('') + lastLine;
}

/**
 * The key, and as its comment the id and version of each credential, which a gateway can recheck later. Every line has
 * all of them, since a gateway does not learn which line sshd used.
 */
function keyOf(credentials: Credentials): string {
  const [{ keyType, keyBlob }] = credentials;
  if (credentials.some((other) => other.keyType !== keyType || other.keyBlob !== keyBlob)) {
    throw new Error('lines of authorized_keys are for one key');
  }
  const ids = credentials.map(({ id, version }) => `${checked(id, ID)}@${checked(String(version), VERSION)}`).join(',');
  return `${checked(keyType, KEY_TYPE)} ${checked(keyBlob, BASE64)} ${ids}`;
}

/** `restrict` also forbids what future versions of OpenSSH allow by default. */
function optionsOf(
  from: string | null,
  admitted: readonly AuthorizedCredential[],
  listens: readonly string[],
  permitsAll: boolean,
): string {
  const options = ['restrict'];
  if (from !== null) options.push(`from="${checked(from, NETWORKS)}"`);
  // The earliest expiry: after it, sshd asks for a line without that credential.
  const [expiry] = admitted.flatMap(({ expiresAt }) => expiresAt ?? []).sort();
  if (expiry !== undefined) options.push(`expiry-time="${checked(expiry, TIME)}Z"`);
  // Without any permitlisten, sshd would permit every port forwarding.
  if (listens.length > 0 || permitsAll) options.push('port-forwarding');
  return [...options, ...listens.map((listen) => `permitlisten="${listen}"`)].join(',');
}

const permitsEverything = ({ acl }: AuthorizedCredential): boolean =>
  acl.length === 0 || acl.some((rule) => EVERYTHING.has(rule));

/** The first `max` permitlistens, each once. */
function firstListensOf(
  credentials: readonly AuthorizedCredential[],
  max: number,
  narrowing: Narrowing,
  own: OwnByHost,
): readonly string[] {
  const listens = new Set<string>();
  for (const { acl } of credentials) {
    // Only a credential that permits everything has no rule: its line is for what the account has reserved.
    for (const rule of acl.length === 0 ? [EVERY_RULE] : rulesOf(acl)) {
      for (const pattern of patternsOf(rule, narrowing, own)) {
        if (listens.size === max) return [...listens];
        listens.add(permitListen(pattern));
      }
    }
  }
  return [...listens];
}

const EVERY_RULE: BindRule = { kind: 'everything' };

/** Keyed by the list in CompiledAcls: an entry is kept as long as that list. */
const cachedRules = new WeakMap<readonly string[], readonly BindRule[]>();

function rulesOf(acl: readonly string[]): readonly BindRule[] {
  const cached = cachedRules.get(acl);
  if (cached !== undefined) return cached;
  const rules = acl.map(parseBindRule);
  cachedRules.set(acl, rules);
  return rules;
}

/** The hosts and wildcards of the rules, for a look-up of what is reserved under them. */
export const hostsOf = (credentials: readonly Pick<AuthorizedCredential, 'acl'>[]): readonly string[] => [
  ...new Set(credentials.flatMap(({ acl }) => rulesOf(acl).flatMap((rule) => patternOf(rule)?.host ?? []))),
];

function patternOf(rule: BindRule): ListenPattern | undefined {
  if (rule.kind !== 'domain') return undefined;
  const port = typeof rule.port === 'number' ? rule.port : null;
  return { host: rule.pattern === 'suffix' ? `*.${rule.host}` : rule.host, port };
}

/**
 * Empty for a label, which sshd does not support. Where something is reserved for others, a rule permits only what the
 * account has reserved.
 */
function patternsOf(rule: BindRule, narrowing: Narrowing, own: OwnByHost): readonly ListenPattern[] {
  if (rule.kind === 'port') return atAnyHost(rule.port, narrowing);
  const pattern = patternOf(rule);
  if (pattern === undefined) return rule.kind === 'everything' ? narrowing.own : [];
  // `host:*` permits any port that a request names. sshd would also permit a random port (0), which this rule does not.
  const isAnyNamed = rule.kind === 'domain' && rule.port === '*';
  if (narrowing.isFree(pattern)) return isAnyNamed ? [] : [pattern];
  const { port } = pattern;
  const { addresses = [], domains = [], byPort } = own.get(pattern.host) ?? {};
  if (port === null) return isAnyNamed ? addresses : [...addresses, ...domains];
  return [...(byPort?.get(port) ?? []), ...domains.map(({ host }) => ({ host, port }))];
}

function atAnyHost(port: number, { isAllFree, own }: Narrowing): readonly ListenPattern[] {
  if (isAllFree) return [{ host: '*', port }];
  return own.filter((one) => one.port === null || one.port === port).map(({ host }) => ({ host, port }));
}

/** What the account has reserved of what a host or a wildcard covers. */
interface OwnUnder {
  readonly addresses: ListenPattern[];
  readonly byPort: Map<number, ListenPattern[]>;
  readonly domains: ListenPattern[];
}
type OwnByHost = ReadonlyMap<string, OwnUnder>;

/** For the hosts of the rules: a key has up to 2,000 rules, and each must cost no more than what it permits. */
function ownByHost(credentials: readonly AuthorizedCredential[], { own }: Narrowing): OwnByHost {
  const under = new Map<string, OwnUnder>();
  if (own.length === 0) return under;
  const wanted = new Set(hostsOf(credentials));
  for (const reserved of own) {
    for (const host of coveringHosts(reserved.host)) {
      if (!wanted.has(host)) continue;
      const found: OwnUnder = under.get(host) ?? { addresses: [], byPort: new Map(), domains: [] };
      under.set(host, found);
      if (reserved.port === null) found.domains.push(reserved);
      else {
        found.addresses.push(reserved);
        const atPort = found.byPort.get(reserved.port) ?? [];
        found.byPort.set(reserved.port, atPort);
        atPort.push(reserved);
      }
    }
  }
  return under;
}

/** A host and the wildcards over it. */
const coveringHosts = (host: string): readonly string[] => [
  host,
  ...[...host.matchAll(/\./g)].map(({ index }) => `*${host.slice(index)}`).filter((wildcard) => wildcard !== host),
];

const permitListen = ({ host, port }: ListenPattern): string => checked(`${host}:${port ?? '*'}`, PERMIT_LISTEN);

/** The last check before sshd reads the line as root: a quote, blank or line end in a value could grant anything. */
function checked(text: string, form: RegExp): string {
  if (form.test(text)) return text;
  throw new Error(`${JSON.stringify(text)} cannot be part of a line of authorized_keys`);
}
