import { ApiField } from '../http/openapi/decorators.js';
import { EXAMPLE_TIME, idField } from '../http/openapi/parts.js';

export const LAST_USED_AT = {
  description: 'When the credential last permitted a tunnel; null if no use is recorded.',
  type: 'string' as const,
  format: 'date-time' as const,
  nullable: true,
  example: EXAMPLE_TIME,
};
const ONLINE = {
  description: 'Whether it has an open tunnel session. Null for members who do not own it.',
  type: 'boolean' as const,
  nullable: true,
  example: true,
};
const LAST_SEEN_AT = {
  description:
    'When it last had an open session: while online, the last report about one. Null if never, and for members who do not own it.',
  type: 'string' as const,
  format: 'date-time' as const,
  nullable: true,
  example: EXAMPLE_TIME,
};

/** What `include=usage` adds to a credential. */
export class SshCredentialUsage {
  @ApiField(ONLINE) online!: boolean | null;
  @ApiField(LAST_SEEN_AT) last_seen_at!: string | null;
  @ApiField(LAST_USED_AT) last_used_at!: string | null;
}

export class CredentialUsageResource {
  @ApiField(idField('sshcr')) id!: string;
  @ApiField(LAST_USED_AT) last_used_at!: string | null;
  @ApiField(ONLINE) online!: boolean | null;
  @ApiField(LAST_SEEN_AT) last_seen_at!: string | null;
}
