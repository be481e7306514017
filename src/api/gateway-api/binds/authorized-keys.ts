import { type BindRule, parseBindRule } from '../../../rules/index.js';

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
export function authorizedKeys(credentials: Credentials): string {
  const key = keyOf(credentials);
  const unrestricted = credentials.filter(({ sources }) => sources === null);
  const restrictions = new Set(credentials.flatMap(({ sources }) => sources ?? []));
  let remaining = MAX_PERMIT_LISTENS;
  const lineOf = (from: string | null, admitted: readonly AuthorizedCredential[]): string => {
    const rules = admitted.some(permitsEverything) ? [] : firstRulesOf(admitted, remaining);
    // Without a line of their own, clients from these networks get the last line.
    if (admitted.length === 0 || (remaining === 0 && !admitted.some(permitsEverything))) return '';
    remaining -= rules.length;
    return `${optionsOf(from, admitted, rules)} ${key}\n`;
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
): string {
  const options = ['restrict'];
  if (from !== null) options.push(`from="${checked(from, NETWORKS)}"`);
  // The earliest expiry: after it, sshd asks for a line without that credential.
  const [expiry] = admitted.flatMap(({ expiresAt }) => expiresAt ?? []).sort();
  if (expiry !== undefined) options.push(`expiry-time="${checked(expiry, TIME)}Z"`);
  const listens = [...new Set(rules.flat())];
  // Without any permitlisten, sshd would permit every port forwarding.
  if (listens.length > 0 || admitted.some(permitsEverything)) options.push('port-forwarding');
  return [...options, ...listens.map((listen) => `permitlisten="${listen}"`)].join(',');
}

const permitsEverything = ({ acl }: AuthorizedCredential): boolean =>
  acl.length === 0 || acl.some((rule) => EVERYTHING.has(rule));

/** The permitlistens of the first `max` rules. */
function firstRulesOf(credentials: readonly AuthorizedCredential[], max: number): readonly (readonly string[])[] {
  const rules: (readonly string[])[] = [];
  for (const { acl } of credentials) {
    if (rules.length >= max) break;
    rules.push(...listensOf(acl));
  }
  return rules.slice(0, max);
}

/** Keyed by the list in CompiledAcls: an entry is kept as long as that list. */
const cachedListens = new WeakMap<readonly string[], readonly (readonly string[])[]>();

function listensOf(acl: readonly string[]): readonly (readonly string[])[] {
  const cached = cachedListens.get(acl);
  if (cached !== undefined) return cached;
  const listens = acl.map(parseBindRule).map(permitListens);
  cachedListens.set(acl, listens);
  return listens;
}

/** Empty for a label, which sshd does not support. */
function permitListens(rule: BindRule): readonly string[] {
  if (rule.kind !== 'domain') return [];
  // `host:*` permits any port that a request names. sshd would also permit a random port (0), which this rule does not.
  if (rule.port === '*') return [];
  const host = rule.pattern === 'suffix' ? `*.${rule.host}` : rule.host;
  return [checked(`${host}:${rule.port ?? '*'}`, PERMIT_LISTEN)];
}

/** The last check before sshd reads the line as root: a quote, blank or line end in a value could grant anything. */
function checked(text: string, form: RegExp): string {
  if (form.test(text)) return text;
  throw new Error(`${JSON.stringify(text)} cannot be part of a line of authorized_keys`);
}
