import { type BindTarget, parseBindTarget } from '../bind-rules/acl.js';
import { Problem } from '../problem.js';
import { isFingerprint, type KeyPolicy, parsePublicKey } from '../public-keys/public-key.js';

/** What gateways ask, read strictly: what is malformed is a fault of the gateway, and must not look like a decision. */

/** Of one call. A tunnel that binds more asks again. */
export const MAX_TARGETS = 1000;

/**
 * A key is only looked up here, so no policy about uploads refuses it: one that could not be uploaded is simply unknown.
 * Denied keys are left out of every answer where answers are made.
 */
const ANY_KEY: KeyPolicy = { minRsaBits: 0, deniedFingerprints: new Set() };

/** The fingerprint of the key that is asked about, by its text or by itself. */
export function keyAskedFor(publicKey: string | undefined, fingerprint: string | undefined): string {
  if ((publicKey === undefined) === (fingerprint === undefined)) {
    throw malformed('Name the key by public_key or by fingerprint, and not by both.');
  }
  return fingerprint === undefined ? parsePublicKey(publicKey, ANY_KEY).fingerprint : readFingerprint(fingerprint);
}

export function readFingerprint(given: string): string {
  // A blank is the plus sign that a URL turned into one: base64 has the one, and never the other.
  const text = given.replaceAll(' ', '+');
  if (isFingerprint(text)) return text;
  // Not quoted: what was pasted by mistake may be a private key.
  throw malformed("fingerprint must be as ssh-keygen -l prints it: 'SHA256:' and 43 characters of base64.");
}

/** The targets in the order given; `isList` tells whether the answer is one decision or a list. */
export function targetsAskedFor(target: unknown): {
  readonly targets: readonly BindTarget[];
  readonly isList: boolean;
} {
  if (target === undefined) throw malformed('target is missing; name what is to be bound.');
  if (!Array.isArray(target)) return { targets: [readTarget(target, 'target')], isList: false };
  if (target.length === 0 || target.length > MAX_TARGETS) {
    throw malformed(`target has ${target.length} items; it takes 1 to ${MAX_TARGETS}.`);
  }
  return { targets: target.map((one, n) => readTarget(one, `target[${n}]`)), isList: true };
}

function readTarget(value: unknown, field: string): BindTarget {
  if (!isObject(value)) throw malformed(`${field} must be an object such as {"domain": "app.example.com"}.`);
  refuseOthers(value, ['domain', 'address', 'label'], field);
  if (isObject(value.label)) refuseOthers(value.label, ['key', 'value'], `${field}.label`);
  try {
    return parseBindTarget(value);
  } catch (error) {
    throw error instanceof Problem ? malformed(`${field}: ${error.message}`) : error;
  }
}

/** A member we do not know may be a limit that the gateway relies on; to ignore it would allow more than was asked. */
function refuseOthers(value: object, names: readonly string[], field: string): void {
  const other = Object.keys(value).find((name) => !names.includes(name));
  if (other !== undefined) throw malformed(`${field} takes ${names.join(', ')} and nothing else.`);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A credential as a gateway knows it: one that let a tunnel in, at the version it had then. */
export interface KnownCredential {
  readonly credentialId: string;
  readonly version: number;
}

export const MAX_RECHECKED = 10_000;
const MAX_VERSION = 2 ** 31 - 1;

/** Item by item and not by class-validator, which takes longer for ten thousand than all else that the question costs. */
export function credentialsAskedFor(body: unknown): readonly KnownCredential[] {
  if (!Array.isArray(body)) throw new Problem('body_malformed', 'The body must be a JSON array.');
  if (body.length > MAX_RECHECKED) throw malformed(`The body has ${body.length} items; the most is ${MAX_RECHECKED}.`);
  return body.map(readKnownCredential);
}

function readKnownCredential(item: unknown, n: number): KnownCredential {
  if (!isObject(item)) throw malformed(`[${n}] must be an object of credential_id and version.`);
  const { credential_id: credentialId, version } = item;
  refuseOthers(item, ['credential_id', 'version'], `[${n}]`);
  if (typeof credentialId !== 'string') throw malformed(`[${n}].credential_id must be a string.`);
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 1 || version > MAX_VERSION) {
    throw malformed(`[${n}].version must be a whole number from 1 to ${MAX_VERSION}.`);
  }
  return { credentialId, version };
}

/** A parameter of the query, exactly once. */
export function parameter(query: Readonly<Record<string, unknown>>, name: string): string {
  const value = query[name];
  if (typeof value === 'string' && value !== '') return value;
  throw malformed(`${name} is missing, or given more than once.`);
}

const malformed = (sentence: string): Problem => new Problem('request_malformed', sentence);
