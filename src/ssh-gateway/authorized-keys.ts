import { type BindRule, parseBindRule } from '../bind-rules/bind-rule.js';

/**
 * What stock sshd is told about a key. Its `permitlisten` knows less than our rules do, so the line is never wider than
 * the rules and sometimes narrower: whatever this line lets a client bind, `permits` in acl.ts permits too.
 */

/** A live credential of the key that logs in; all of one line are of the same key. */
export interface GrantedKey {
  readonly id: string;
  readonly version: number;
  readonly keyType: string;
  /** Base64 of the wire form. */
  readonly keyBlob: string;
  readonly acl: readonly string[];
}

/**
 * sshd refuses a key with more permitlistens, and then its owner can bind nothing. Of all rules of a key the first so many
 * count, from the oldest credential on: what worked goes on working, and whoever adds a rule too many sees that rule
 * refused. Those of later credentials are not even parsed. How many credentials and rules come here at all is bounded where
 * they are read (key-rights.ts); what a parsed ACL makes is kept as long as the ACL itself is.
 */
export const MAX_PERMIT_LISTENS = 4096;

/** The two spellings of the rule that permits all. */
const EVERYTHING: ReadonlySet<string> = new Set(['*', 'bind:*']);
const KEY_TYPE = /^[a-z0-9@.-]+$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const ID = /^[A-Za-z0-9_-]+$/;
const VERSION = /^\d+$/;
/** A canonical host, perhaps after `*.`, and a port or `*`. Nothing here can end the quoted option or begin another. */
const PERMIT_LISTEN = /^(?:(?:\*\.)?[a-z0-9_.-]+|\[[0-9a-f:.]+\]):(?:\d{1,5}|\*)$/;

/**
 * One line of authorized_keys, without its newline. sshd takes the first line that has the key, so all its credentials
 * share one, with the union of what they allow, oldest first. The comment is their ids, each with the version that the
 * line was made of, so that whoever logs it can ask later whether they are as they were.
 */
export function authorizedKeysLine(credentials: readonly [GrantedKey, ...GrantedKey[]]): string {
  const [{ keyType, keyBlob }] = credentials;
  if (credentials.some((other) => other.keyType !== keyType || other.keyBlob !== keyBlob)) {
    throw new Error('one line of authorized_keys is for one key');
  }
  const ids = credentials.map(({ id, version }) => `${checked(id, ID)}@${checked(String(version), VERSION)}`).join(',');
  return `${optionsFor(credentials)} ${checked(keyType, KEY_TYPE)} ${checked(keyBlob, BASE64)} ${ids}`;
}

/** `restrict` first: whatever a later OpenSSH learns to allow a key stays forbidden here until it is named. */
function optionsFor(credentials: readonly GrantedKey[]): string {
  const isUnrestricted = ({ acl }: GrantedKey): boolean => acl.length === 0 || acl.some((rule) => EVERYTHING.has(rule));
  if (credentials.some(isUnrestricted)) return 'restrict,port-forwarding';
  const listens = [...new Set(firstRulesOf(credentials).flat())];
  // Port forwarding without a single permitlisten would be all of it.
  if (listens.length === 0) return 'restrict';
  return `restrict,port-forwarding,${listens.map((listen) => `permitlisten="${listen}"`).join(',')}`;
}

/** What each of the rules that count is to sshd. */
function firstRulesOf(credentials: readonly GrantedKey[]): readonly (readonly string[])[] {
  const rules: (readonly string[])[] = [];
  for (const { acl } of credentials) {
    if (rules.length >= MAX_PERMIT_LISTENS) break;
    rules.push(...listensOf(acl));
  }
  return rules.slice(0, MAX_PERMIT_LISTENS);
}

/** By the very list that is kept in CompiledAcls: sshd asks twice in a login, and parsing thousands of rules takes its time. */
const knownListens = new WeakMap<readonly string[], readonly (readonly string[])[]>();

function listensOf(acl: readonly string[]): readonly (readonly string[])[] {
  const known = knownListens.get(acl);
  if (known !== undefined) return known;
  const listens = acl.map(parseBindRule).map(permitListens);
  knownListens.set(acl, listens);
  return listens;
}

/** None for a label, which sshd knows nothing of. */
function permitListens(rule: BindRule): readonly string[] {
  if (rule.kind !== 'domain') return [];
  // `host:*` is any port that the request names. To sshd it is a random port (0) too, which this rule does not permit.
  if (rule.port === '*') return [];
  const host = rule.pattern === 'suffix' ? `*.${rule.host}` : rule.host;
  return [checked(`${host}:${rule.port ?? '*'}`, PERMIT_LISTEN)];
}

/** The last look before sshd reads it as root: a quote, blank or line end in a value could grant anything. */
function checked(text: string, form: RegExp): string {
  if (form.test(text)) return text;
  throw new Error(`${JSON.stringify(text)} cannot stand in a line of authorized_keys`);
}
