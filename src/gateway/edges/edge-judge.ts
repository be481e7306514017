import { PolicyReader, type PolicyReading } from '../../rules/index.js';
import type { EdgeAnswer } from './edge-answer.js';
import { type NeededPolicy, PolicyMemory } from './policy-memory.js';
import { type Judgement, judge, type PolicyText, type ServedEdge, type UnreadText } from './served-edge.js';

/** The most memory of the traffic policies of an account, each text once. */
const MAX_BYTES_OF_ACCOUNT = 32 * 1024 * 1024;
/** A policy that was read has at least so much for each character of its text. */
const LEAST_BYTES_OF_CHARACTER = 2;

type Reader = Pick<PolicyReader, 'known' | 'read'>;

/**
 * Judges answers about hostports. It reads the traffic policies, one of an account at a time, and holds those that are in
 * force.
 */
export class EdgeJudge {
  private readonly reader: Reader;
  private readonly memory: PolicyMemory;
  /** The text that the newest answer about each hostport waits for. */
  private readonly awaited = new Map<string, UnreadText>();
  /** Hostports whose texts wait, for each account of which a text is read. */
  private readonly lines = new Map<string, Set<string>>();

  constructor(
    private readonly ways: {
      readonly isIgnoring: boolean;
      /** Called with the judgement of the newest answer about a hostport, when its text was read. */
      readonly judged: (hostport: string, judgement: Judgement) => Promise<void>;
      /** Called with hostports that had no room, when the service is to be asked about them again. */
      readonly freed: (hostports: readonly string[]) => void;
      readonly failed: (error: unknown) => void;
    },
    {
      reader,
      maxBytesOfAccount = MAX_BYTES_OF_ACCOUNT,
    }: { readonly reader?: Reader; readonly maxBytesOfAccount?: number } = {},
  ) {
    this.reader = reader ?? new PolicyReader();
    this.memory = new PolicyMemory(maxBytesOfAccount, ways.freed);
  }

  /** `before`: the edge that is served there. If a text must be read, `judged` is called later, unless an answer comes. */
  judge(hostport: string, answer: EdgeAnswer, before: ServedEdge | undefined): Judgement {
    const known = this.ways.isIgnoring ? 'ignore' : (of: PolicyText) => this.known(of);
    const judgement = this.limited(hostport, judge(answer, known, before));
    const { unread } = judgement;
    this.awaited.delete(hostport);
    if (unread !== undefined) {
      this.awaited.set(hostport, unread);
      this.wait(hostport, unread.accountId);
    }
    return judgement;
  }

  /** Nothing that is not read yet is served any more. */
  forgetUnread(): void {
    this.awaited.clear();
  }

  private known({ accountId, digest, text }: PolicyText): PolicyReading | undefined {
    return this.memory.known(accountId, digest) ?? this.reader.known(text);
  }

  private limited(hostport: string, judgement: Judgement): Judgement {
    const { served, concerns } = judgement;
    if (this.memory.set(hostport, neededBy(judgement))) return judgement;
    const limit = `the traffic policies of its account need more than ${MAX_BYTES_OF_ACCOUNT / 1024 ** 2} MiB here`;
    const wayOut = 'shorten them, or give several edges the same one';
    return { served: undefined, refusal: `edge ${served?.id} is not served: ${limit}; ${wayOut}`, concerns };
  }

  private wait(hostport: string, accountId: string): void {
    const line = this.lines.get(accountId);
    line?.add(hostport);
    if (line === undefined) void this.readAll(accountId, new Set([hostport]));
  }

  /** The line has no texts, so that it holds none that an answer has replaced. */
  private async readAll(accountId: string, line: Set<string>): Promise<void> {
    this.lines.set(accountId, line);
    for (const hostport of line) {
      line.delete(hostport);
      await this.read(hostport, accountId).catch(this.ways.failed);
    }
    this.lines.delete(accountId);
  }

  private async read(hostport: string, accountId: string): Promise<void> {
    const unread = this.awaited.get(hostport);
    if (unread?.accountId !== accountId) return;
    const reading = this.known(unread) ?? (await this.reader.read(unread.text, accountId));
    if (this.awaited.get(hostport) !== unread) return;
    this.awaited.delete(hostport);
    await this.ways.judged(hostport, this.limited(hostport, unread.judge(reading)));
  }
}

function neededBy({ served, unread, digest = '' }: Judgement): NeededPolicy | undefined {
  if (served === undefined) return undefined;
  const { accountId, policy } = served;
  if (unread !== undefined) return { accountId, digest, bytes: unread.text.length * LEAST_BYTES_OF_CHARACTER };
  return policy && { accountId, digest, bytes: policy.policy.memoryBytes, policy: policy.policy };
}
