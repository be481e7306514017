import { ApiField, ApiSchemaName } from '../../http/openapi/decorators.js';
import { EXAMPLE_KSUID, EXAMPLE_TIME, idField, idPattern } from '../../http/openapi/parts.js';
import { FINGERPRINT } from '../../ssh-credentials/ssh-credentials.resource.js';
import {
  CREDENTIAL_ID,
  GATEWAY_NAME,
  nullable,
  OWNER_ID,
  TARGET_SCHEMA,
} from '../decision-record/bind-decision-fields.js';
import { PolicyLog } from '../traffic-policies/traffic-check.resource.js';

export const SESSION_RECORDS_PATH = 'tunnel_session_records';
export const EDGE_RECORDS_PATH = 'edge_connection_records';
export const MAX_TUNNELS_OF_RECORD = 100;

const time = (description: string) => ({ description, format: 'date-time' as const, example: EXAMPLE_TIME });
const STARTED_AT = time('When it began.');
const ENDED_AT = time('When it ended.');
const REASON = { description: 'Why it ended, as the gateway says.', example: 'client' };
const counter = (description: string) => ({
  description: `${description}; null if the gateway does not count.`,
  type: 'integer' as const,
  nullable: true,
  example: 4_096,
});
const BYTES_IN = counter('Bytes from those who connected');
const BYTES_OUT = counter('Bytes to those who connected');
const CONNECTIONS = { ...counter('Connections that were carried'), example: 3 };
const id = (prefix: 'edgtcp' | 'gw' | 'tn' | 'ts', description: string) => ({
  description,
  pattern: idPattern(prefix),
  example: `${prefix}_${EXAMPLE_KSUID}`,
});

/** The fields that all records have. */
class EndFields {
  @ApiField(STARTED_AT) started_at!: string;
  @ApiField(ENDED_AT) ended_at!: string;
  @ApiField(REASON) reason!: string;
  @ApiField(BYTES_IN) bytes_in!: number | null;
  @ApiField(BYTES_OUT) bytes_out!: number | null;
}

class EndedTunnel extends EndFields {
  @ApiField(id('tn', 'Id of the tunnel.')) id!: string;
  @ApiField(CREDENTIAL_ID) credential_id!: string;
  @ApiField({
    description: 'What it was bound to.',
    type: 'array',
    items: TARGET_SCHEMA,
    example: [{ address: '1.tcp.example.com:20000' }],
  })
  targets!: readonly object[];
  @ApiField(CONNECTIONS) connections!: number | null;
}

@ApiSchemaName('TunnelSessionRecord')
export class SessionRecordResource extends EndFields {
  @ApiField(idField('tsr')) id!: string;
  @ApiField(id('ts', 'Id of the session.')) session_id!: string;
  @ApiField(CREDENTIAL_ID) credential_id!: string;
  @ApiField(OWNER_ID) owner_id!: string;
  @ApiField(nullable(FINGERPRINT)) fingerprint!: string | null;
  @ApiField(nullable({ description: 'Address of the client.', example: '203.0.113.9' })) source!: string | null;
  @ApiField(nullable({ description: 'What the client calls itself.', example: 'SSH-2.0-OpenSSH_9.2' })) client!:
    | string
    | null;
  @ApiField(id('gw', 'Id of the run of the gateway.')) gateway_id!: string;
  @ApiField(nullable(GATEWAY_NAME)) gateway_name!: string | null;
  @ApiField(CONNECTIONS) connections!: number | null;
  @ApiField({ description: `Its newest tunnels, at most ${MAX_TUNNELS_OF_RECORD}.`, listOf: EndedTunnel })
  tunnels!: readonly EndedTunnel[];
}

@ApiSchemaName('EdgeConnectionRecord')
export class EdgeConnectionRecordResource extends EndFields {
  @ApiField(idField('ec')) id!: string;
  @ApiField(nullable(id('edgtcp', 'Id of the edge; null for a name.'))) edge_id!: string | null;
  @ApiField(nullable({ description: 'The hostport of the edge.', example: '1.tcp.example.com:20000' })) hostport!:
    | string
    | null;
  @ApiField(nullable({ description: 'The name, if it went to a bound domain.', example: null })) host!: string | null;
  @ApiField(nullable({ description: 'Address of the client.', example: '203.0.113.9:50123' })) client!: string | null;
  @ApiField(nullable(id('ts', 'Id of the session that carried it.'))) session_id!: string | null;
  @ApiField(nullable(id('tn', 'Id of the tunnel that carried it.'))) tunnel_id!: string | null;
  @ApiField(nullable(CREDENTIAL_ID)) credential_id!: string | null;
  @ApiField(id('gw', 'Id of the run of the gateway.')) gateway_id!: string;
  @ApiField(nullable(GATEWAY_NAME)) gateway_name!: string | null;
  @ApiField({
    description: 'What actions of `log` of its traffic policy said, in their order; null if they said nothing.',
    listOf: PolicyLog,
    nullable: true,
    example: null,
  })
  logs!: readonly PolicyLog[] | null;
}

/** A row of the database, under the names of the resource. */
type Recorded<Resource> = Omit<Resource, 'started_at' | 'ended_at'> & {
  readonly started_at: Date;
  readonly ended_at: Date;
};
export type RecordedSession = Recorded<SessionRecordResource>;
export type RecordedEdgeConnection = Recorded<EdgeConnectionRecordResource>;

export const toRecord = <Row extends { readonly started_at: Date; readonly ended_at: Date }>(row: Row) => ({
  ...row,
  started_at: row.started_at.toISOString(),
  ended_at: row.ended_at.toISOString(),
});

/** PostgreSQL's JSON writes times with an offset; answers have them in UTC with milliseconds. */
export const toSessionRecord = (row: RecordedSession): SessionRecordResource => ({
  ...toRecord(row),
  tunnels: row.tunnels.map((tunnel) => ({
    ...tunnel,
    started_at: new Date(tunnel.started_at).toISOString(),
    ended_at: new Date(tunnel.ended_at).toISOString(),
  })),
});
