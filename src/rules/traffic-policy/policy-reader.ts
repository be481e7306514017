import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { messageOf } from '../../kernel/error-message.js';
import { KeyedQueue } from '../../kernel/keyed-queue.js';
import { readTrafficPolicy, type TrafficPolicy } from './traffic-policy.js';
import { UnreadablePolicy } from './unreadable-policy.js';

/** The most memory of the policies that are held as they were read, and of the summaries. */
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_BYTES_OF_SUMMARIES = 4 * 1024 * 1024;
/** More than what a character of a text takes, and an entry. */
const BYTES_OF_CHARACTER = 2;
const BYTES_OF_ENTRY = 1_024;

/** A policy of an edge, or why it cannot be read. */
export type PolicyReading = TrafficPolicy | UnreadablePolicy;

/** What is said about a policy without a decision. */
export interface PolicySummary {
  /** Why it cannot be read, as a sentence. Null: it can. */
  readonly error: string | null;
  /** The IP policies that it names. Empty if it cannot be read. */
  readonly ipPolicyIds: readonly string[];
}

/**
 * Reads traffic policies, each text once for an account. It holds the last ones, so the memory for them has a limit.
 * Summaries take little, so it holds those of many more.
 */
export class PolicyReader {
  private readonly held: LRUCache<string, PolicyReading>;
  /** By the hashes of texts. */
  private readonly summaries = new LRUCache<string, PolicySummary>({
    maxSize: MAX_BYTES_OF_SUMMARIES,
    sizeCalculation: (summary) => BYTES_OF_ENTRY + BYTES_OF_CHARACTER * JSON.stringify(summary).length,
  });
  private readonly underWay = new Map<string, Promise<PolicyReading>>();
  private readonly queue = new KeyedQueue(1);

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

  /**
   * Never rejects. Accounts take turns, so that the policies of one do not delay those of others. The texts of an account
   * are read one after another.
   */
  async read(text: string, account: string): Promise<PolicyReading> {
    const known = this.known(text);
    if (known !== undefined) return known;
    // Nobody waits in the turns of another account that sends the same text.
    const key = `${account} ${text}`;
    const reading = this.underWay.get(key) ?? this.queue.run(account, () => this.result(text, account));
    this.underWay.set(key, reading);
    const result = await reading;
    if (this.underWay.delete(key)) {
      this.held.set(text, result);
      this.summaries.set(hashOf(text), summaryOf(result));
    }
    return result;
  }

  /** Never rejects. Reads the text only if it has no summary of it. */
  async summary(text: string, account: string): Promise<PolicySummary> {
    return this.summaries.get(hashOf(text)) ?? summaryOf(await this.read(text, account));
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

/** A copy, since a part of a text keeps all of it in memory. */
function summaryOf(reading: PolicyReading): PolicySummary {
  const isUnreadable = reading instanceof UnreadablePolicy;
  const summary = {
    error: isUnreadable ? reading.message : null,
    ipPolicyIds: isUnreadable ? [] : reading.ipPolicyIds,
  };
  return JSON.parse(JSON.stringify(summary));
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64');

const sizeOf = (reading: PolicyReading, { length }: string): number =>
  BYTES_OF_ENTRY + BYTES_OF_CHARACTER * length + (reading instanceof UnreadablePolicy ? 0 : reading.memoryBytes);
