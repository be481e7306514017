import { LRUCache } from 'lru-cache';
import { messageOf } from '../../kernel/error-message.js';
import { readTrafficPolicy, type TrafficPolicy } from './traffic-policy.js';
import { UnreadablePolicy } from './unreadable-policy.js';

/** The most memory of the policies that are held as they were read. */
const MAX_BYTES = 32 * 1024 * 1024;
/** More than what a character of a text takes, and an entry. */
const BYTES_OF_CHARACTER = 2;
const BYTES_OF_ENTRY = 1_024;

/** A policy of an edge, or why it cannot be read. */
export type PolicyReading = TrafficPolicy | UnreadablePolicy;

/** Reads traffic policies, each text once for an account. It holds the last ones, so the memory for them has a limit. */
export class PolicyReader {
  private readonly held: LRUCache<string, PolicyReading>;
  private readonly underWay = new Map<string, Promise<PolicyReading>>();

  constructor(
    maxBytes = MAX_BYTES,
    private readonly parse: (text: string, account: string) => Promise<TrafficPolicy> = readTrafficPolicy,
  ) {
    this.held = new LRUCache<string, PolicyReading>({ maxSize: maxBytes, sizeCalculation: sizeOf });
  }

  /** What it holds. Undefined: it has not read the text, or does not hold it any more. */
  known(text: string): PolicyReading | undefined {
    return this.held.get(text);
  }

  /** Never rejects. Accounts take turns, so that the policies of one do not delay those of others. */
  async read(text: string, account: string): Promise<PolicyReading> {
    const known = this.known(text);
    if (known !== undefined) return known;
    // Nobody waits in the turns of another account that sends the same text.
    const key = `${account} ${text}`;
    const reading = this.underWay.get(key) ?? this.result(text, account);
    this.underWay.set(key, reading);
    const result = await reading;
    if (this.underWay.delete(key)) this.held.set(text, result);
    return result;
  }

  /** An edge whose policy makes the library fail is closed like any other that cannot be read. */
  private async result(text: string, account: string): Promise<PolicyReading> {
    try {
      return await this.parse(text, account);
    } catch (error) {
      if (error instanceof UnreadablePolicy) return error;
      return new UnreadablePolicy('the policy', `could not be read: ${messageOf(error)}`);
    }
  }
}

const sizeOf = (reading: PolicyReading, { length }: string): number =>
  BYTES_OF_ENTRY + BYTES_OF_CHARACTER * length + (reading instanceof UnreadablePolicy ? 0 : reading.memoryBytes);
