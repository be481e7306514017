import { ApiField } from '../../http/openapi/decorators.js';
import { EXAMPLE_KSUID, EXAMPLE_TIME, idField, idPattern } from '../../http/openapi/parts.js';
import { FINGERPRINT, LAST_USED_AT, nullable, OWNER_ID, TARGET_SCHEMA, VERSION } from '../ssh-gateway.resource.js';
import type { RecordedDecision } from './bind-decisions.js';
import { REASONS } from './decision.js';

export const PATH = 'bind_decisions';

export class BindDecision {
  @ApiField(idField('bd')) id!: string;
  @ApiField({ description: 'When it was made.', format: 'date-time', example: EXAMPLE_TIME }) decided_at!: string;
  @ApiField({ description: 'Whether the tunnel was permitted.', example: true }) allowed!: boolean;
  @ApiField({ description: 'Why, or why not.', enum: REASONS, example: 'permitted' }) reason!: string;
  @ApiField({
    description:
      'The rule that permitted it, as it was written; null when none did, or when there were no rules at all.',
    type: 'string',
    nullable: true,
    example: 'bind:*.example.com',
  })
  matched_rule!: string | null;
  @ApiField({ ...TARGET_SCHEMA, type: 'object', example: { domain: 'app.example.com' } }) target!: object;
  @ApiField({
    description: 'The credential that permitted it; else the oldest of the key. It may be deleted by now.',
    pattern: idPattern('sshcr'),
    example: `sshcr_${EXAMPLE_KSUID}`,
  })
  credential_id!: string;
  @ApiField(VERSION) version!: number;
  @ApiField(OWNER_ID) owner_id!: string;
  @ApiField(FINGERPRINT) fingerprint!: string;
  @ApiField({ description: 'The address of the gateway that asked.', example: '192.0.2.10' }) gateway!: string;
  @ApiField(nullable({ description: 'Where the tunnel came from, as the gateway told.', example: '203.0.113.9' }))
  source!: string | null;
}

export const toResource = (decision: RecordedDecision): BindDecision => ({
  id: decision.id,
  decided_at: decision.decided_at.toISOString(),
  allowed: decision.allowed,
  reason: decision.reason,
  matched_rule: decision.rule,
  target: decision.target,
  credential_id: decision.credential_id,
  version: decision.credential_version,
  owner_id: decision.owner_id,
  fingerprint: decision.fingerprint,
  gateway: decision.gateway,
  source: decision.source,
});

export class CredentialUsageResource {
  @ApiField(idField('sshcr')) id!: string;
  @ApiField(LAST_USED_AT) last_used_at!: string | null;
}
