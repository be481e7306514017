import { type BindRule, parseBindRule } from '../bind-rules/bind-rule.js';

/**
 * The line that stock sshd gets for a key. `permitlisten` can express less than our rules, so the line is sometimes
 * narrower than the rules but never wider: `permits` in acl.ts permits every bind that this line allows.
 */

/** A live credential of the key that logs in. All credentials of a line have the same key. */
export interface AuthorizedCredential {
  readonly id: string;
  readonly version: number;
  readonly keyType: string;
  /** Base64 of the wire form. */
  readonly keyBlob: string;
  readonly acl: readonly string[];
}

/**
 * sshd refuses a key with more permitlistens. The first rules of a key count, from the oldest credential on, so that an
 * added rule cannot displace a working one. key-access.ts and credential-grants.ts limit a key's rules and credentials.
 */
export const MAX_PERMIT_LISTENS = 4096;

/** The two spellings of the rule that permits everything. */
const EVERYTHING: ReadonlySet<string> = new Set(['*', 'bind:*']);
const KEY_TYPE = /^[a-z0-9@.-]+$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const ID = /^[A-Za-z0-9_-]+$/;
const VERSION = /^\d+$/;
/** A canonical host, with or without `*.`, and a port or `*`. Its characters cannot end the quoted option. */
const PERMIT_LISTEN = /^(?:(?:\*\.)?[a-z0-9_.-]+|\[[0-9a-f:.]+\]):(?:\d{1,5}|\*)$/;

/**
 * One line of authorized_keys, without its newline. sshd uses only the first line of a key, so the credentials of a key
 * share a line with the union of their permissions, oldest first. The comment has the id and version of each
 * credential, which a gateway can recheck later.
 */
export function authorizedKeysLine(credentials: readonly [AuthorizedCredential, ...AuthorizedCredential[]]): string {
  const [{ keyType, keyBlob }] = credentials;
  if (credentials.some((other) => other.keyType !== keyType || other.keyBlob !== keyBlob)) {
    throw new Error('a line of authorized_keys is for one key');
  }
  const ids = credentials.map(({ id, version }) => `${checked(id, ID)}@${checked(String(version), VERSION)}`).join(',');
  return `${optionsFor(credentials)} ${checked(keyType, KEY_TYPE)} ${checked(keyBlob, BASE64)} ${ids}`;
}

/** `restrict` also forbids what future versions of OpenSSH allow by default. */
function optionsFor(credentials: readonly AuthorizedCredential[]): string {
  const isUnrestricted = ({ acl }: AuthorizedCredential): boolean =>
    acl.length === 0 || acl.some((rule) => EVERYTHING.has(rule));
  if (credentials.some(isUnrestricted)) return 'restrict,port-forwarding';
  const listens = [...new Set(firstRulesOf(credentials).flat())];
  // Without any permitlisten, sshd would permit every port forwarding.
  if (listens.length === 0) return 'restrict';
  return `restrict,port-forwarding,${listens.map((listen) => `permitlisten="${listen}"`).join(',')}`;
}

/** The permitlistens of each rule that counts. */
function firstRulesOf(credentials: readonly AuthorizedCredential[]): readonly (readonly string[])[] {
  const rules: (readonly string[])[] = [];
  for (const { acl } of credentials) {
    if (rules.length >= MAX_PERMIT_LISTENS) break;
    rules.push(...listensOf(acl));
  }
  return rules.slice(0, MAX_PERMIT_LISTENS);
}

/** Keyed by the list in CompiledAcls. sshd asks twice during a login, and parsing thousands of rules is slow. */
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
