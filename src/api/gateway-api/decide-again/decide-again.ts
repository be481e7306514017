import { DedicatedConnections, type MaintenanceDatabase, type Ref } from '../../../database/index.js';
import { AS_COMMITTED, LogPositions } from '../../../event-log/index.js';
import { RESERVATION_REASONS, type RefusalOf } from '../../reservations/reservation.js';
import { sshCredentialsReadModel } from '../../ssh-credentials/ssh-credentials.read-model.js';
import { CompiledAcls } from '../decisions/compiled-acls.js';
import { deciderOf, KeyAccess } from '../decisions/key-access.js';
import { SourceCheck } from '../decisions/source-check.js';
import { LoggedGrants, type Moment } from './logged-grants.js';
import { answerOf, type DecisionAnswer, type RecordedDecision } from './recorded-decision.js';

/** What the log says of a recorded decision. */
export interface DecidedAgain {
  readonly answer: DecisionAnswer;
  /** The fields that differ; none if the answer is the same. */
  readonly differences: readonly (keyof DecisionAnswer)[];
  /** The answer is the same only without changes of another account that were perhaps not committed yet. */
  readonly isUnsettled: boolean;
}

/** The log of the decision's account ends before the position of the decision. */
export class LogTooShort extends Error {
  override readonly name = 'LogTooShort';
}

/** A change gets its time before it is committed, and a commit may wait for a standby for as long as this. */
const COMMIT_MAY_TAKE_MS = 20_000;

/** A decision that records what it was made from. */
export type RepeatableDecision = RecordedDecision & { readonly isKeyDenied: boolean };

export const isRepeatable = (decision: RecordedDecision): decision is RepeatableDecision =>
  decision.isKeyDenied !== null;

/**
 * Makes a recorded decision again, from the log and by the code that answers gateways. The log of its account counts up
 * to the decision's position. Other accounts can have had the key too: the record has no position of theirs, so their
 * logs count up to the decision's time.
 */
export async function decideAgain(database: MaintenanceDatabase, decision: RepeatableDecision): Promise<DecidedAgain> {
  const { pool } = database;
  const positions = new LogPositions(pool, AS_COMMITTED);
  await refuseShortLog(positions, decision);
  const streams = decision.isKeyDenied ? [] : await streamsOfKey(database, decision.fingerprint);
  const decide = async (earlierMs: number): Promise<DecidedAgain> => {
    const grants = new LoggedGrants(pool, streams, momentOf(positions, decision, earlierMs));
    const { fingerprint, gatewayAccount, target, source, maxRules } = decision;
    const key = await new KeyAccess(grants, new CompiledAcls(), maxRules).ofKey(
      gatewayAccount === null ? {} : { accountId: gatewayAccount },
      fingerprint,
    );
    const answer = answerOf(deciderOf(key, new SourceCheck(), source, recordedJudge(decision))(target));
    return { answer, differences: differencesOf(decision.answer, answer), isUnsettled: earlierMs > 0 };
  };
  const again = await decide(0);
  if (again.differences.length === 0) return again;
  const earlier = await decide(COMMIT_MAY_TAKE_MS);
  return earlier.differences.length === 0 ? earlier : again;
}

/** What was reserved is a circumstance, as the deny list is: other accounts and settings made it, and the record has it. */
const recordedJudge = ({ answer: { reason } }: RecordedDecision): RefusalOf => {
  const recorded = RESERVATION_REASONS.find((one) => one === reason);
  return () => recorded;
};

async function refuseShortLog(positions: LogPositions, { answer, logPosition }: RecordedDecision): Promise<void> {
  const { account_id: accountId } = answer;
  if (accountId === null || logPosition === null) return;
  const size = await positions.head(accountId);
  if (size < logPosition) throw new LogTooShort(`the log of ${accountId} ends at position ${size}`);
}

/** `earlierMs`: how much earlier the logs of other accounts are read. */
function momentOf(positions: LogPositions, decision: RecordedDecision, earlierMs: number): Moment {
  const { readAt, decidedAt, logPosition, answer } = decision;
  const text = readAt ?? decidedAt;
  const known = new Map<string, Promise<number>>();
  if (answer.account_id !== null && logPosition !== null) known.set(answer.account_id, Promise.resolve(logPosition));
  const until = earlierMs === 0 ? text : new Date(Date.parse(text) - earlierMs).toISOString();
  const positionOf = (accountId: string): Promise<number> => {
    const position = known.get(accountId) ?? positions.positionAt(accountId, 'read_at', until, 'future');
    known.set(accountId, position);
    return position;
  };
  return { positionOf, time: Date.parse(text) };
}

/** The streams of all credentials of a key, in every account. It reads the whole log, which has no index on keys. */
async function streamsOfKey(database: MaintenanceDatabase, fingerprint: string): Promise<readonly Ref[]> {
  const [prefix] = sshCredentialsReadModel.streamPrefixes;
  return DedicatedConnections.use(database, async (connections) => {
    const client = await connections.openSnapshot();
    const { rows } = await client.query<Ref>(
      `select account_id as "accountId", stream_id as id from events
       where stream_version = 1 and stream_id >= $1 || '_' and stream_id < $1 || '\`' and strpos(data, $2) > 0`,
      [prefix, JSON.stringify(fingerprint)],
    );
    return rows;
  });
}

const differencesOf = (then: DecisionAnswer, now: DecisionAnswer): (keyof DecisionAnswer)[] =>
  (Object.keys(then) as (keyof DecisionAnswer)[]).filter((field) => then[field] !== now[field]);
