import { ApiField } from '../../http/openapi/decorators.js';
import { Anything, List, TextOfBytes } from '../../http/validated-body.js';
import { ACL, SOURCE_CIDRS } from '../../ssh-credentials/ssh-credentials.resource.js';
import { MAX_SOURCE_BYTES, TARGET } from '../binds/binds.resource.js';
import { NEEDS } from '../decision-record/bind-decision-fields.js';
import { type BindDecision, REASONS } from '../decisions/bind-decision.js';
import { AsOf, NOT_CONSIDERED } from './as-of.resource.js';

const CHECK_REASONS = [...REASONS, 'source_unknown'] as const;

const SOURCE = {
  description: 'Where the tunnel would come from. A source restriction permits nothing without it.',
  example: '203.0.113.9',
};

export class CredentialCheckBody {
  @Anything(TARGET) target?: unknown;
  @TextOfBytes(MAX_SOURCE_BYTES, 'request_malformed', SOURCE) source?: string;
  @AsOf() as_of?: string;
}

export class AclCheckBody {
  @List({ ...ACL, required: true }) acl?: unknown[];
  @Anything(TARGET) target?: unknown;
  @TextOfBytes(MAX_SOURCE_BYTES, 'request_malformed', SOURCE) source?: string;
  @List({ ...SOURCE_CIDRS, example: null }) source_cidrs?: unknown[];
}

export class BindCheck {
  @ApiField({ description: 'Whether a gateway would open the tunnel.', example: true }) allowed!: boolean;
  @ApiField({
    description:
      'Reason for the answer. `source_unknown`: the credential has a source restriction, and the question no `source`.',
    enum: CHECK_REASONS,
    example: 'permitted',
  })
  reason!: string;
  @ApiField({
    description: 'The first rule that permits the tunnel, as written; null if no rule does, or if there are no rules.',
    type: 'string',
    nullable: true,
    example: 'bind:*.example.com',
  })
  matched_rule!: string | null;
  @ApiField(NEEDS) needs!: string | null;
  @ApiField(NOT_CONSIDERED) not_considered?: readonly string[];
}

export class BindChecks {
  @ApiField({ description: 'One answer for each target, in the order of the targets.', listOf: BindCheck })
  decisions!: readonly BindCheck[];
  @ApiField(NOT_CONSIDERED) not_considered?: readonly string[];
}

interface Answered extends Pick<BindDecision, 'allowed' | 'matchedRule' | 'needs'> {
  readonly reason: (typeof CHECK_REASONS)[number];
}

export const withoutSource = ({ reason, ...decision }: BindDecision): Answered => ({
  ...decision,
  reason: reason === 'source_not_allowed' ? 'source_unknown' : reason,
});

/** A list of targets is answered with a list, as by `authorize`. `more` stands beside the answer or the answers. */
export function toChecks(
  decisions: readonly Answered[],
  isList: boolean,
  more: Pick<BindChecks, 'not_considered'> = {},
): BindCheck | BindChecks {
  const checks = decisions.map(({ allowed, reason, matchedRule, needs }) => ({
    allowed,
    reason,
    matched_rule: matchedRule,
    needs,
  }));
  const [first] = checks;
  return isList || first === undefined ? { decisions: checks, ...more } : { ...first, ...more };
}
