import { LRUCache } from 'lru-cache';
import { messageOf } from '../../kernel/error-message.js';
import { readTrafficPolicy, type TrafficPolicy } from './traffic-policy.js';
import { UnreadablePolicy } from './unreadable-policy.js';

/** The most memory of the policies that are held as they were read. */
const MAX_BYTES = 32 * 1024 * 1024;
const BYTES_OF_ENTRY = 1_024;

/** A policy of an edge, or why it cannot be read. */
export type PolicyReading = TrafficPolicy | UnreadablePolicy;

/** The IP policies that a traffic policy names. None if it cannot be read. */
export const namedBy = (policy: PolicyReading | undefined): readonly string[] =>
  policy === undefined || policy instanceof UnreadablePolicy ? [] : policy.ipPolicyIds;

/** Reads traffic policies, and holds the last ones. A reading takes up to some 5 ms, in which nothing else is done. */
export class PolicyReader {
  private readonly held: LRUCache<string, PolicyReading>;

  constructor(
    maxBytes = MAX_BYTES,
    private readonly parse: (text: string) => TrafficPolicy = readTrafficPolicy,
  ) {
    this.held = new LRUCache<string, PolicyReading>({ maxSize: maxBytes, sizeCalculation: sizeOf });
  }

  /** Whether `read` takes no time. */
  holds(text: string): boolean {
    return this.held.has(text);
  }

  read(text: string): PolicyReading {
    const held = this.held.get(text);
    if (held !== undefined) return held;
    const reading = this.reading(text);
    this.held.set(text, reading);
    return reading;
  }

  /** A policy that makes the library fail cannot be read either. */
  private reading(text: string): PolicyReading {
    try {
      return this.parse(text);
    } catch (error) {
      if (error instanceof UnreadablePolicy) return error;
      return new UnreadablePolicy('the policy', `could not be read: ${messageOf(error)}`);
    }
  }
}

const sizeOf = (reading: PolicyReading, { length }: string): number =>
  BYTES_OF_ENTRY + 2 * length + (reading instanceof UnreadablePolicy ? 0 : reading.memoryBytes);
