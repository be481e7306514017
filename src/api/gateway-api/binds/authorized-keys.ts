import { type BindRule, parseBindRule } from '../../../rules/index.js';
import type { ListenPattern, Narrowing } from '../../reservations/reservation.js';
import { covers } from '../../reservations/reservation.js';

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
 * sshd refuses a key with more permitlistens on a line. The first rules of a key count, from the oldest credential on,
 * so that an added rule cannot displace a working one. All lines share the maximum, so no restriction makes an answer
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
/** A canonical host, with or without `*.`, and a port or `*`. Its characters cannot end the quoted option. */
const PERMIT_LISTEN = /^(?:(?:\*\.)?[a-z0-9_.-]+|\[[0-9a-f:.]+\]):(?:\d{1,5}|\*)$/;

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
  let remaining = MAX_PERMIT_LISTENS;
  const lineOf = (from: string | null, admitted: readonly AuthorizedCredential[]): string => {
    const permitsAll = narrowing.isAllFree && admitted.some(permitsEverything);
    const rules = permitsAll ? [] : firstRulesOf(admitted, remaining, narrowing);
    // Without a line of their own, clients from these networks get the last line.
    if (admitted.length === 0 || (remaining === 0 && !permitsAll)) return '';
    remaining -= rules.length;
    return `${optionsOf(from, admitted, rules, permitsAll)} ${key}\n`;
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
  rules: readonly (readonly string[])[],
  permitsAll: boolean,
): string {
  const options = ['restrict'];
  if (from !== null) options.push(`from="${checked(from, NETWORKS)}"`);
  // The earliest expiry: after it, sshd asks for a line without that credential.
  const [expiry] = admitted.flatMap(({ expiresAt }) => expiresAt ?? []).sort();
  if (expiry !== undefined) options.push(`expiry-time="${checked(expiry, TIME)}Z"`);
  const listens = [...new Set(rules.flat())];
  // Without any permitlisten, sshd would permit every port forwarding.
  if (listens.length > 0 || permitsAll) options.push('port-forwarding');
  return [...options, ...listens.map((listen) => `permitlisten="${listen}"`)].join(',');
}

const permitsEverything = ({ acl }: AuthorizedCredential): boolean =>
  acl.length === 0 || acl.some((rule) => EVERYTHING.has(rule));

/** The permitlistens of the first `max` rules. */
function firstRulesOf(
  credentials: readonly AuthorizedCredential[],
  max: number,
  narrowing: Narrowing,
): readonly (readonly string[])[] {
  const rules: (readonly string[])[] = [];
  for (const { acl } of credentials) {
    if (rules.length >= max) break;
    // Only a credential that permits everything has no rule: its line is for what the account has reserved.
    const parsed = acl.length === 0 ? [EVERY_RULE] : rulesOf(acl);
    rules.push(...parsed.map((rule) => permitListens(rule, narrowing)));
  }
  return rules.slice(0, max);
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
function permitListens(rule: BindRule, narrowing: Narrowing): readonly string[] {
  const pattern = patternOf(rule);
  if (pattern === undefined) return rule.kind === 'everything' ? narrowing.own.map(permitListen) : [];
  if (!narrowing.isFree(pattern)) return ownUnder(pattern, narrowing).map(permitListen);
  // `host:*` permits any port that a request names. sshd would also permit a random port (0), which this rule does not.
  return rule.kind === 'domain' && rule.port === '*' ? [] : [permitListen(pattern)];
}

/** What the account has reserved of what a pattern covers. */
const ownUnder = ({ host, port }: ListenPattern, { own }: Narrowing): readonly ListenPattern[] =>
  own.flatMap((reserved) => {
    if (!covers(host, reserved.host) || (port !== null && reserved.port !== null && port !== reserved.port)) return [];
    return [{ host: reserved.host, port: reserved.port ?? port }];
  });

const permitListen = ({ host, port }: ListenPattern): string => checked(`${host}:${port ?? '*'}`, PERMIT_LISTEN);

/** The last check before sshd reads the line as root: a quote, blank or line end in a value could grant anything. */
function checked(text: string, form: RegExp): string {
  if (form.test(text)) return text;
  throw new Error(`${JSON.stringify(text)} cannot be part of a line of authorized_keys`);
}
