import { createHash } from 'node:crypto';
import { Injectable, Optional } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { nextTurn } from '../../../kernel/in-turns.js';
import { parseTrafficPolicy, type TrafficPolicy, UnreadablePolicy } from '../../../rules/index.js';
import { MAX_IP_POLICIES } from '../../tcp-edges/edge-modules.js';

/** A policy that was read takes up to some 30 times the bytes of its text. */
const MAX_CACHED_BYTES = 4 * 1024 * 1024;
/** The fixed cost of a policy. */
const OVERHEAD_BYTES = 256;

/** A traffic policy, or why it cannot be applied: a sentence. */
export type ReadPolicy = { readonly policy: TrafficPolicy } | { readonly error: string };

/**
 * Reads the texts of traffic policies, each once as long as it is in the cache. An entry is found by the SHA-256 of the
 * text, so no edit can make it wrong and no text can make the search slow.
 */
@Injectable()
export class TrafficPolicies {
  private readonly cached: LRUCache<string, Promise<ReadPolicy>>;

  constructor(@Optional() maxBytes = MAX_CACHED_BYTES) {
    this.cached = new LRUCache({ maxSize: maxBytes });
  }

  /** `accountId`: the account whose turns of the event loop it takes. */
  read(text: string, accountId: string): Promise<ReadPolicy> {
    const digest = createHash('sha256').update(text).digest('base64');
    const known = this.cached.get(digest);
    if (known !== undefined) return known;
    const reading = readPolicy(text, accountId);
    this.cached.set(digest, reading, { size: Buffer.byteLength(text) + OVERHEAD_BYTES });
    reading.catch(() => this.cached.delete(digest));
    return reading;
  }
}

async function readPolicy(text: string, accountId: string): Promise<ReadPolicy> {
  try {
    const policy = await readTrafficPolicy(text, accountId);
    const named = policy.ipPolicyIds.length;
    if (named <= MAX_IP_POLICIES) return { policy };
    return { error: `the policy names ${named} IP policies; the maximum is ${MAX_IP_POLICIES}.` };
  } catch (error) {
    if (!(error instanceof UnreadablePolicy)) throw error;
    return { error: error.message };
  }
}

async function readTrafficPolicy(text: string, account: string): Promise<TrafficPolicy> {
  await nextTurn(account);
  return parseTrafficPolicy(text);
}
