import type { RepeatableDecision } from '../../../api/gateway-api/decide-again/decide-again.js';
import type { DecisionAnswer } from '../../../api/gateway-api/decide-again/recorded-decision.js';
import { MAX_RULES_PER_KEY } from '../../../api/gateway-api/decisions/key-access.js';
import type { BindTarget } from '../../../rules/index.js';
import { safeJson } from '../format.js';

/**
 * What was asked, what was answered, and as of which moment. The target and the source come from a gateway, unchecked.
 */
export function questionLines(decision: RepeatableDecision): string[] {
  const { id, decidedAt, fingerprint, target, source, gateway, gatewayName, answer } = decision;
  const from = source === undefined ? 'from an unknown place' : `from ${safeJson(source)}`;
  const by = gatewayName === null ? gateway : `${gatewayName} (${gateway})`;
  return [
    `${id}, decided ${decidedAt} for the gateway ${by}`,
    `asked: may ${fingerprint} bind ${safeJson(targetText(target))}, ${from}?`,
    `answered then: ${sentenceOf(answer)}`,
    `as of: ${momentText(decision)}${limitText(decision)}`,
  ];
}

function targetText(target: BindTarget): string {
  if (target.kind === 'domain') return target.name;
  return target.kind === 'address' ? `${target.host}:${target.port}` : `${target.key}=${target.value}`;
}

function momentText({ isKeyDenied, gatewayAccount, logPosition, readAt, answer }: RepeatableDecision): string {
  if (isKeyDenied) return 'a deny list of the operator, which held the key; the log does not hold this list';
  const served = gatewayAccount === null ? '' : `, for a gateway of ${gatewayAccount} alone`;
  if (logPosition === null) return `${readAt}, in the logs of all accounts${served}`;
  return `position ${logPosition} of the log of ${answer.account_id}, read ${readAt}${served}`;
}

/** Of a time with another maximum. */
const limitText = ({ maxRules }: RepeatableDecision): string =>
  maxRules === MAX_RULES_PER_KEY ? '' : `, by up to ${maxRules} rules of the key`;

/** An answer in words. */
export function sentenceOf({ allowed, reason, ...answer }: DecisionAnswer): string {
  const verdict = allowed ? `permitted${reason === 'permitted' ? '' : ` (${reason})`}` : `refused as ${reason}`;
  const rule = answer.rule_index === null ? '' : ` by acl[${answer.rule_index}] ${safeJson(answer.matched_rule)}`;
  if (answer.credential_id === null) return verdict;
  return `${verdict}${rule}, ${answer.credential_id} version ${answer.version} of ${answer.owner_id} in ${answer.account_id}`;
}

export const differenceLine = (field: keyof DecisionAnswer, then: DecisionAnswer, now: DecisionAnswer): string =>
  `    ${field}: ${safeJson(then[field])} -> ${safeJson(now[field])}`;
