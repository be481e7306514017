import type { Pool } from 'pg';
import { timeText } from '../../../event-log/index.js';
import { Problem } from '../../../kernel/problem.js';
import { type BindTarget, parseBindTarget } from '../../../rules/index.js';
import { type BindDecisionAnswer, toAnswer } from '../binds/binds.resource.js';
import type { RecordedBindDecision } from '../decision-record/bind-decisions.resource.js';
import type { BindDecision } from '../decisions/bind-decision.js';

/** What a gateway is answered and the record has, with an empty field as null. */
export type DecisionAnswer = Readonly<Omit<BindDecisionAnswer, 'needs'>> & Pick<RecordedBindDecision, 'rule_index'>;

export function answerOf(decision: BindDecision): DecisionAnswer {
  const { needs: _, ...answer } = toAnswer(decision);
  return { ...answer, rule_index: decision.ruleIndex };
}

/** A decision of the table `bind_decisions`: what was asked, under which circumstances, and what was answered. */
export interface RecordedDecision {
  readonly id: string;
  /** RFC 3339, UTC, microseconds. */
  readonly decidedAt: string;
  readonly fingerprint: string;
  readonly target: BindTarget;
  readonly source: string | undefined;
  readonly gateway: string;
  readonly gatewayName: string | null;
  /** The only account that the gateway served. */
  readonly gatewayAccount: string | null;
  /** How many rules of a key counted then. */
  readonly maxRules: number;
  /** Null for decisions of earlier versions, which cannot be made again. */
  readonly isKeyDenied: boolean | null;
  readonly logPosition: number | null;
  /** RFC 3339, UTC, microseconds. Null if the database was not asked, since the key was on the deny list. */
  readonly readAt: string | null;
  readonly answer: DecisionAnswer;
}

/** The record has what no version of the service writes. */
export class ChangedRecord extends Error {
  override readonly name = 'ChangedRecord';
}

type Row = Omit<RecordedDecision, 'target' | 'source' | 'answer'> &
  DecisionAnswer & { readonly target: object; readonly source: string | null };

/** Earlier versions recorded no maximum. */
const MAX_RULES_OF_EARLIER_VERSIONS = 10_000;

const DECISION = `select id, ${timeText('decided_at')} as "decidedAt", fingerprint, target, source, gateway,
    gateway_name as "gatewayName", gateway_account as "gatewayAccount", key_denied as "isKeyDenied", coalesce(max_rules, ${MAX_RULES_OF_EARLIER_VERSIONS}) as "maxRules",
    log_position::float8 as "logPosition", ${timeText('read_at')} as "readAt", allowed, reason, rule as matched_rule, rule_index,
    nullif(account_id, '') as account_id, nullif(credential_id, '') as credential_id, credential_version as version,
    nullif(owner_id, '') as owner_id
  from bind_decisions where id = $1`;

/** Undefined if there is none with this id. Throws ChangedRecord for one that the service cannot have written. */
export async function findDecision(pool: Pool, id: string): Promise<RecordedDecision | undefined> {
  const { rows } = await pool.query<Row>(DECISION, [id]);
  const [row] = rows;
  if (row === undefined) return undefined;
  refuseChangedTimes(row);
  const { allowed, reason, matched_rule, rule_index, account_id, credential_id, version, owner_id, ...asked } = row;
  const answer = { allowed, reason, matched_rule, rule_index, account_id, credential_id, version, owner_id };
  return { ...asked, target: targetOf(row), source: row.source ?? undefined, answer };
}

/** Whether the text begins with a year of four digits. PostgreSQL also knows infinite and later times. */
const isTime = (text: string | null): boolean => text !== null && /^\d{4}-/.test(text);

function refuseChangedTimes({ decidedAt, isKeyDenied, logPosition, readAt }: Row): void {
  if (!isTime(decidedAt)) throw new ChangedRecord('its decided_at is not a time');
  if (isKeyDenied === false && !isTime(readAt)) throw new ChangedRecord('its read_at is not a time');
  if (isKeyDenied === null && (logPosition !== null || readAt !== null))
    throw new ChangedRecord('it does not say whether the key was denied (key_denied)');
}

function targetOf({ target }: Row): BindTarget {
  try {
    return parseBindTarget(target);
  } catch (error) {
    throw error instanceof Problem ? new ChangedRecord('its target is not one that a gateway can ask for') : error;
  }
}
