import { ApiField, ApiSchemaName } from '../../http/openapi/decorators.js';
import { EXAMPLE_TIME, idField } from '../../http/openapi/parts.js';
import { FINGERPRINT } from '../../ssh-credentials/ssh-credentials.resource.js';
import { REASONS } from '../decisions/bind-decision.js';
import { ruleNeededBy } from '../decisions/bind-target-form.js';
import {
  CREDENTIAL_ID,
  GATEWAY_NAME,
  NEEDS,
  nullable,
  OWNER_ID,
  TARGET_SCHEMA,
  VERSION,
} from './bind-decision-fields.js';

export const BIND_DECISIONS_PATH = 'bind_decisions';

const OF_EARLIER_VERSIONS = 'null for decisions of earlier versions';
const LOG_POSITION = {
  description: `Position of the account's log that the decision was made at; ${OF_EARLIER_VERSIONS}.`,
};
const RULE_INDEX = {
  description: `Index of the rule that permitted the tunnel in the ACL of the credential; null if no rule did, and ${OF_EARLIER_VERSIONS}.`,
};
const READ_AT = {
  description: `When the credentials were read, by the clock of the database, which says what had expired; ${OF_EARLIER_VERSIONS}.`,
};

@ApiSchemaName('BindDecision')
export class BindDecisionResource {
  @ApiField(idField('bd')) id!: string;
  @ApiField({ description: 'When the decision was made.', format: 'date-time', example: EXAMPLE_TIME })
  decided_at!: string;
  @ApiField({ description: 'Whether the tunnel was permitted.', example: true }) allowed!: boolean;
  @ApiField({ description: 'Reason for the decision.', enum: REASONS, example: 'permitted' }) reason!: string;
  @ApiField({
    description:
      'The rule that permitted the tunnel, as written; null if no rule did, or if the credential had no rules.',
    type: 'string',
    nullable: true,
    example: 'bind:*.example.com',
  })
  matched_rule!: string | null;
  @ApiField(NEEDS) needs!: string | null;
  @ApiField({ ...TARGET_SCHEMA, type: 'object', example: { domain: 'app.example.com' } }) target!: object;
  @ApiField({
    ...CREDENTIAL_ID,
    description:
      'The credential that permitted the tunnel; otherwise the oldest one for which the reason holds. It may have been deleted since.',
  })
  credential_id!: string;
  @ApiField(VERSION) version!: number;
  @ApiField(OWNER_ID) owner_id!: string;
  @ApiField(FINGERPRINT) fingerprint!: string;
  @ApiField({ description: 'Address of the gateway that sent the request.', example: '192.0.2.10' }) gateway!: string;
  @ApiField(nullable(GATEWAY_NAME)) gateway_name!: string | null;
  @ApiField(
    nullable({ description: 'Where the tunnel comes from; null if the gateway did not say.', example: '203.0.113.9' }),
  )
  source!: string | null;
  @ApiField({ ...LOG_POSITION, type: 'integer', nullable: true, example: 42 }) log_position!: number | null;
  @ApiField({ ...RULE_INDEX, type: 'integer', nullable: true, example: 0 }) rule_index!: number | null;
  @ApiField({ ...READ_AT, type: 'string', format: 'date-time', nullable: true, example: EXAMPLE_TIME })
  read_at!: string | null;
}

/** A row of `bind_decisions`, under the names of the resource. What it needs is not stored. */
export type RecordedBindDecision = Omit<BindDecisionResource, 'decided_at' | 'read_at' | 'needs'> & {
  readonly decided_at: Date;
  readonly read_at: Date | null;
};

export const toResource = ({
  id,
  decided_at,
  allowed,
  reason,
  matched_rule,
  read_at,
  ...asked
}: RecordedBindDecision): BindDecisionResource => ({
  ...{ id, decided_at: decided_at.toISOString(), allowed, reason, matched_rule },
  needs: reason === 'not_permitted' ? ruleNeededBy(asked.target) : null,
  ...asked,
  read_at: read_at?.toISOString() ?? null,
});
