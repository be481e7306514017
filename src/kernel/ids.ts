import { randomBytes } from 'node:crypto';

/**
 * An id is `<prefix>_` and a KSUID in base62: 4 bytes of seconds since its epoch, and 16 bytes that begin with the
 * millisecond (10 bits) and are random otherwise. In ids of earlier versions all 16 bytes are random.
 */
export type IdPrefix =
  | ('ac' | 'ak' | 'bot' | 'op' | 'usr')
  | ('bkdtg' | 'edgtcp' | 'enk' | 'ipp' | 'ipr' | 'ra' | 'rd' | 'sshcr')
  | ('bd' | 'ec' | 'rec' | 'tnr' | 'tsr')
  | ('gw' | 'tn' | 'ts');

const KSUID_EPOCH_SECONDS = 1_400_000_000;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KSUID_CHARACTERS = 27;
const BITS_AFTER_SECOND = 128n;
const BITS_AFTER_MILLISECOND = 118n;
/** 14 bytes are fewer bits than an id has after the millisecond, so further steps stay within the millisecond. */
const RANDOM_BYTES = 14;
const STEP_BYTES = 8;

/** The smallest KSUID of a millisecond within a second, as a number. */
function firstOf(second: number, ms = 0): bigint {
  return (BigInt(second) << BITS_AFTER_SECOND) + (BigInt(ms) << BITS_AFTER_MILLISECOND);
}

const sinceEpochMs = (at: Date): number => Math.max(0, Math.floor(at.getTime()) - KSUID_EPOCH_SECONDS * 1000);

const randomNumber = (bytes: number): bigint => BigInt(`0x${randomBytes(bytes).toString('hex')}`);

function base62(ksuid: bigint): string {
  let text = '';
  for (let rest = ksuid; text.length < KSUID_CHARACTERS; rest /= 62n) text = BASE62.charAt(Number(rest % 62n)) + text;
  return text;
}

function freshAt(at: Date): bigint {
  const ms = sinceEpochMs(at);
  return firstOf(Math.floor(ms / 1000), ms % 1000) + randomNumber(RANDOM_BYTES);
}

/**
 * Makes ids and times. Within a process ids strictly increase, even if the clock steps back: the time never goes back,
 * and an id that would not be greater becomes the last id plus a random step. Steps of 1 would let an account count the
 * ids of others.
 */
export class IdSource {
  private lastMs = 0;
  private last = 0n;

  constructor(private readonly clock: () => number = Date.now) {}

  /** The current time, never earlier than a time that this source returned before. */
  now(): Date {
    this.lastMs = Math.max(this.lastMs, this.clock());
    return new Date(this.lastMs);
  }

  /** A new id with the millisecond of `at`, or with the millisecond of the newest id if that is later. */
  next(prefix: IdPrefix, at = this.now()): string {
    const fresh = freshAt(at);
    this.last = fresh > this.last ? fresh : this.last + 1n + randomNumber(STEP_BYTES);
    return `${prefix}_${base62(this.last)}`;
  }
}

/** An id with the millisecond of a time that may be long past. Ids of one millisecond have no order. */
export function idAt(prefix: IdPrefix, at: Date): string {
  return `${prefix}_${base62(freshAt(at))}`;
}

/**
 * An id that is greater than the ids of earlier seconds, and less than the ids from this second on. It is not exact to
 * the millisecond, since ids of earlier versions do not have the millisecond.
 */
export function firstIdOf(prefix: IdPrefix, at: Date): string {
  return `${prefix}_${base62(firstOf(Math.floor(sinceEpochMs(at) / 1000)))}`;
}

const ID = /^[a-z]+_[0-9A-Za-z]{27}$/;

/**
 * Whether `text` has the shape of an id: with this prefix, or with any. A cursor or path of another shape matches no
 * entity.
 */
export function isId(text: string, prefix?: IdPrefix): boolean {
  return ID.test(text) && (prefix === undefined || text.startsWith(`${prefix}_`));
}

/** The day of UTC in an id, such as `2026-11-21`. Empty for a text that is no id. */
export function dayOf(id: string): string {
  if (!isId(id)) return '';
  let ksuid = 0n;
  for (const character of id.slice(-KSUID_CHARACTERS)) ksuid = ksuid * 62n + BigInt(BASE62.indexOf(character));
  const seconds = Number(ksuid >> BITS_AFTER_SECOND) + KSUID_EPOCH_SECONDS;
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}
