import { setTimeout as sleep } from 'node:timers/promises';
import { withAdvice } from '../connection/advice.js';
import { PostgresFailure } from '../failure.js';
import type { PrimaryPool } from '../primary-pool.js';
import { type NamedStatement, onlyRow, queryNamed, READ_LIMITS, type StatementLimits } from '../query.js';
import { differenceOf, OF_SERVER, type ServerAnswer } from './log-identity.js';

const MAX_WAIT_MS = 100;
/** The wait and its last question leave a read the time to ask the primary too, and to be answered within 3 s. */
export const REPLICA_LIMITS: StatementLimits = { deadlineMs: 300, silenceMs: 1_200, attempts: 1 };
export const AFTER_REPLICA: StatementLimits = { ...READ_LIMITS, deadlineMs: READ_LIMITS.deadlineMs - 200 };
const FIRST_PAUSE_MS = 4;
/** For so long after a failure the primary answers, but for one read in this time, which tries the replica. */
const REST_MS = 1_000;
/** A trouble that has not come back for this long is over. */
const CALM_MS = 10_000;
/** How old the knowledge of the primary may be. Behind a pooler a failover makes no new connection. */
const KNOWN_FOR_MS = 1_000;

const WHOSE_LOG: NamedStatement = { name: 'whose_log', text: `select ${OF_SERVER}` };

/** Why the primary answers in place of the replica. */
type Trouble = 'away' | 'foreign' | 'behind';

/** What each answer of a replica says beside its rows: whose log it has, and how far it knows that of the account. */
export interface AnswerAtHead extends ServerAnswer {
  readonly head: number;
}

const FOLLOW =
  'let REPLICA_DATABASE_URL name standbys of the database of DATABASE_URL, and after a failover run CHECKPOINT on them';
const BEHIND =
  `the replica of REPLICA_DATABASE_URL is more than ${MAX_WAIT_MS} ms behind; ` +
  'see pg_stat_replication on the primary for what holds it up: network, disk, or long queries on the replica';

/**
 * A standby that answers reads which say how new their answer must be. It is never trusted: each of its answers says
 * whose log it is, and how far it knows it. If it does not help at once, its reader asks the primary.
 */
export class Replica {
  private trouble: Trouble | undefined;
  /** These are times of performance.now(). */
  private troubleUntil = 0;
  private restsUntil = 0;
  private noWaitUntil = 0;
  private ofPrimary: { readonly identity: Promise<string>; readonly until: number } | undefined;

  constructor(
    readonly pool: PrimaryPool,
    private readonly primary: PrimaryPool,
    private readonly log: (line: string) => void,
  ) {
    // After a failover the primary's connections are new ones.
    primary.on('connect', () => {
      this.ofPrimary = undefined;
    });
  }

  /**
   * Asks until the replica knows the log up to `position`, for a tenth of a second at most. Without an answer the caller
   * asks the primary. `behind`: it has waited in vain.
   */
  async read<Answer extends AnswerAtHead>(
    position: number,
    ask: () => Promise<Answer>,
  ): Promise<Answer | 'behind' | undefined> {
    if (!this.mayTry()) return undefined;
    const expected = await this.identityOfPrimary().catch(() => undefined);
    if (expected === undefined) return undefined;
    try {
      return await this.readUpTo(position, expected, ask);
    } catch (error) {
      this.failed(error);
      return undefined;
    }
  }

  private async readUpTo<Answer extends AnswerAtHead>(position: number, expected: string, ask: () => Promise<Answer>) {
    const startedAt = performance.now();
    const maxWaitMs = startedAt < this.noWaitUntil ? 0 : MAX_WAIT_MS;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
      const answer = await ask();
      const refusal = refusalOf(answer, expected);
      if (refusal !== undefined) return this.passOver(refusal);
      this.works();
      if (answer.head >= position) return answer;
      if (maxWaitMs === 0) return undefined;
      if (performance.now() + pauseMs > startedAt + maxWaitMs) return 'behind';
      await sleep(pauseMs);
    }
  }

  /** The primary knows a position for which a read has waited in vain, so the next reads do not wait. */
  isBehind(): void {
    this.noWaitUntil = performance.now() + REST_MS;
    this.enter('behind', BEHIND);
  }

  /** Asks the replica. `used`: it answers reads. */
  async state(): Promise<Trouble | 'used'> {
    await this.read(0, async () => {
      const { rows } = await queryNamed<ServerAnswer & object>(this.pool, WHOSE_LOG, [], REPLICA_LIMITS);
      return { ...onlyRow(rows), head: 0 };
    });
    return this.trouble ?? 'used';
  }

  /** While it rests, one read at a time tries whether it works again. */
  private mayTry(): boolean {
    const now = performance.now();
    if (now < this.restsUntil) return false;
    if (this.restsUntil > 0) this.restsUntil = now + REST_MS;
    return true;
  }

  private identityOfPrimary(): Promise<string> {
    const now = performance.now();
    if (this.ofPrimary === undefined || this.ofPrimary.until < now) {
      const limits = { ...REPLICA_LIMITS, isRead: true } as const;
      const identity = queryNamed<ServerAnswer & object>(this.primary, WHOSE_LOG, [], limits).then(
        ({ rows }) => onlyRow(rows).log_identity,
      );
      this.ofPrimary = { identity, until: now + KNOWN_FOR_MS };
    }
    return this.ofPrimary.identity;
  }

  /** Of several hosts another one may be right. */
  private passOver(refusal: string): undefined {
    const { next } = this.pool.servers;
    next.suspect();
    this.pool.servers.passOver(next);
    this.rest('foreign', `the server of REPLICA_DATABASE_URL ${refusal}; ${FOLLOW}`);
  }

  private failed(error: unknown): void {
    const failure = PostgresFailure.of(error);
    // A standby cancels a query that stands in the way of its replay, which says nothing about the next one.
    if (failure.isDeadlock) return;
    if (!failure.isOfServer && !failure.isConnectionLoss) throw error;
    const reason = withAdvice(error, 'REPLICA_DATABASE_URL');
    const trouble = reason.includes('the server is no standby') ? 'foreign' : 'away';
    this.rest(trouble, `the replica of REPLICA_DATABASE_URL cannot be used: ${reason}`);
  }

  private rest(trouble: Trouble, line: string): void {
    this.restsUntil = performance.now() + REST_MS;
    this.enter(trouble, line);
  }

  private enter(trouble: Trouble, line: string): void {
    if (this.trouble !== trouble) this.log(`${line}. Until then the primary answers`);
    this.trouble = trouble;
    this.troubleUntil = performance.now() + CALM_MS;
  }

  private works(): void {
    this.restsUntil = 0;
    if (this.trouble === undefined || performance.now() < this.troubleUntil) return;
    this.trouble = undefined;
    this.log('the replica of REPLICA_DATABASE_URL answers reads again');
  }
}

/** Undefined: the answer is of a standby of the primary's log. */
function refusalOf({ log_identity, is_standby }: ServerAnswer, expected: string): string | undefined {
  if (!is_standby) return 'is no standby';
  const difference = differenceOf(log_identity, expected);
  return difference && `has another ${difference} than the primary`;
}
