import { isJsonObject } from '../../../kernel/json-object.js';
import { malformed, Problem } from '../../../kernel/problem.js';
import {
  type BindTarget,
  type KeyPolicy,
  parseBindTarget,
  parsePublicKey,
  readFingerprint,
} from '../../../rules/index.js';

/** Reads the requests of gateways. A malformed request is an error, which a gateway cannot mistake for a decision. */

/** The maximum of one request. For a tunnel with more targets the gateway sends several requests. */
export const MAX_TARGETS = 1000;

/**
 * The key is only looked up, so the policy on uploads does not apply: a key that was never uploaded is unknown. Keys on
 * the deny list are left out when the grants are read.
 */
const ANY_KEY: KeyPolicy = { minRsaBits: 0, deniedFingerprints: new Set() };

/** The fingerprint of the key that a request names, by its text or by its fingerprint. */
export function readKey(publicKey: string | undefined, fingerprint: string | undefined): string {
  if ((publicKey === undefined) === (fingerprint === undefined)) {
    throw malformed('Send exactly one of public_key and fingerprint.');
  }
  return fingerprint === undefined ? parsePublicKey(publicKey, ANY_KEY).fingerprint : readFingerprint(fingerprint);
}

/** Of targets and their aliases, and the most bytes of them all: each is looked up among rules and reservations. */
export const MAX_NAMES = 1_000;
export const MAX_BYTES_OF_NAMES = 32 * 1024;

interface ReadTargets {
  /** In the order sent. */
  readonly targets: readonly BindTarget[];
  /** Whether the answer is a list too. */
  readonly isList: boolean;
}

/** The targets of a gateway, which may have aliases. */
export const readAskedTargets = (target: unknown): ReadTargets => readTargets(target, ['aliases']);

/** `besideAddress`: what a target with an address may have more. */
export function readTargets(target: unknown, besideAddress: readonly string[] = []): ReadTargets {
  if (target === undefined) throw malformed('target is missing; send the target to bind.');
  if (!Array.isArray(target)) return { targets: [readTarget(target, 'target', besideAddress)], isList: false };
  if (target.length === 0 || target.length > MAX_TARGETS) {
    throw malformed(`target has ${target.length} items; it takes 1 to ${MAX_TARGETS}.`);
  }
  const targets = target.map((one, n) => readTarget(one, `target[${n}]`, besideAddress));
  const names = targets.flatMap(namesOf);
  const bytes = names.reduce((sum, name) => sum + Buffer.byteLength(name), 0);
  if (names.length <= MAX_NAMES && bytes <= MAX_BYTES_OF_NAMES) return { targets, isList: true };
  const found = `The targets and their aliases are ${names.length} names of ${bytes} bytes in all`;
  throw malformed(`${found}; the maximum is ${MAX_NAMES} of ${MAX_BYTES_OF_NAMES} bytes. Ask about some of them.`);
}

function namesOf(target: BindTarget): readonly string[] {
  if (target.kind === 'domain') return [target.name];
  if (target.kind === 'label') return [`${target.key}=${target.value}`];
  return [target, ...(target.aliases ?? [])].map(({ host, port }) => `${host}:${port}`);
}

/** One target. `field` names it in messages. */
export function readTarget(value: unknown, field: string, besideAddress: readonly string[] = []): BindTarget {
  if (!isJsonObject(value)) throw malformed(`${field} must be an object such as {"domain": "app.example.com"}.`);
  const names = ['domain', 'address', 'label'];
  refuseUnknownMembers(value, typeof value.address === 'string' ? [...names, ...besideAddress] : names, field);
  if (isJsonObject(value.label)) refuseUnknownMembers(value.label, ['key', 'value'], `${field}.label`);
  try {
    return parseBindTarget(value);
  } catch (error) {
    throw error instanceof Problem ? malformed(`${field}: ${error.message}`) : error;
  }
}

/** An unknown member may be a restriction that the gateway relies on; ignoring it would permit too much. */
function refuseUnknownMembers(value: object, names: readonly string[], field: string): void {
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown !== undefined) throw malformed(`${field} takes only ${names.join(', ')}.`);
}

/** A credential that permitted a tunnel, with the version that it had then. */
export interface KnownCredential {
  readonly credentialId: string;
  readonly version: number;
}

export const MAX_RECHECKED = 10_000;
const MAX_VERSION = 2 ** 31 - 1;

/** What a gateway holds, and the text about reservations of the last answer that it got. */
export interface Held {
  readonly credentials: readonly KnownCredential[];
  readonly reservations: string | undefined;
}

/** The list of credentials, alone or as a member. A refusal names the item by its index. */
export function readHeld(body: unknown): Held {
  if (Array.isArray(body)) return { credentials: readKnownCredentials(body), reservations: undefined };
  const noList = new Problem('body_malformed', 'The body must be a JSON array, or an object with one as credentials.');
  if (!isJsonObject(body)) throw noList;
  refuseUnknownMembers(body, ['credentials', 'reservations'], 'The body');
  const { credentials, reservations } = body;
  if (!Array.isArray(credentials)) throw noList;
  if (reservations !== undefined && typeof reservations !== 'string') throw malformed('reservations must be a string.');
  return { credentials: readKnownCredentials(credentials), reservations };
}

function readKnownCredentials(list: readonly unknown[]): readonly KnownCredential[] {
  if (list.length > MAX_RECHECKED) {
    throw malformed(`The list has ${list.length} items; the maximum is ${MAX_RECHECKED}.`);
  }
  return list.map(readKnownCredential);
}

function readKnownCredential(item: unknown, n: number): KnownCredential {
  if (!isJsonObject(item)) throw malformed(`[${n}] must be an object with credential_id and version.`);
  const { credential_id: credentialId, version } = item;
  refuseUnknownMembers(item, ['credential_id', 'version'], `[${n}]`);
  if (typeof credentialId !== 'string') throw malformed(`[${n}].credential_id must be a string.`);
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 1 || version > MAX_VERSION) {
    throw malformed(`[${n}].version must be a whole number from 1 to ${MAX_VERSION}.`);
  }
  return { credentialId, version };
}

/** A query parameter that must be sent exactly once. */
export function readRequiredParameter(query: Readonly<Record<string, unknown>>, name: string): string {
  const value = query[name];
  if (typeof value === 'string' && value !== '') return value;
  throw malformed(`${name} is missing, or was sent more than once.`);
}
