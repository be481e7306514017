import type { TunnelDomain } from '../../rules/index.js';
import {
  GATEWAY_NAME,
  nullable,
  OWNER_ID,
  TARGET_SCHEMA,
} from '../gateway-api/decision-record/bind-decision-fields.js';
import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { EXAMPLE_BASE_URL, EXAMPLE_KSUID, EXAMPLE_TIME, idField, idPattern, uriField } from '../http/openapi/parts.js';
import type { ResourceDescriptor } from '../resources/resource-descriptor.js';
import { FINGERPRINT, SSH_CREDENTIALS } from '../ssh-credentials/ssh-credentials.resource.js';
import { MAX_TUNNELS_OF_SESSION, type OpenSession, type OpenTunnel, type TargetForm } from './open-sessions.js';
import { type StoppedSession, sessionNotFound, type TunnelSessionEvent } from './tunnel-session.js';
import { tunnelSessionsReadModel } from './tunnel-sessions.read-model.js';

export const SESSIONS_PATH = 'tunnel_sessions';
export const TUNNELS_PATH = 'tunnels';

const AS_REPORTED = 'as its gateway last reported; null if it does not count';
const counter = (what: string) => ({
  description: `${what}, ${AS_REPORTED}.`,
  type: 'integer' as const,
  nullable: true,
  example: 4_096,
});
const STARTED_AT = { description: 'When it was opened.', format: 'date-time' as const, example: EXAMPLE_TIME };
const EMPTY = { description: 'Empty: this service has no such thing.', example: '' };
const CONNECTIONS = {
  description: `Connections that were carried, ${AS_REPORTED}.`,
  type: 'integer' as const,
  nullable: true,
  example: 3,
};
const TARGETS = {
  description: 'What it is bound to, as gateways ask for it.',
  type: 'array' as const,
  items: TARGET_SCHEMA,
  example: [{ address: '1.tcp.example.com:20000' }],
};

const refTo = (path: string, prefix: 'sshcr' | 'ts') => {
  class Ref {
    @ApiField({ description: 'Id.', pattern: idPattern(prefix), example: `${prefix}_${EXAMPLE_KSUID}` }) id!: string;
    @ApiField({ description: 'URI.', format: 'uri', example: `${EXAMPLE_BASE_URL}/${path}/${prefix}_${EXAMPLE_KSUID}` })
    uri!: string;
  }
  return Ref;
};

@ApiSchemaName('SshCredentialRef')
class CredentialRef extends refTo(SSH_CREDENTIALS.path, 'sshcr') {}

@ApiSchemaName('TunnelSessionRef')
class SessionRef extends refTo(SESSIONS_PATH, 'ts') {}

class TunnelOfSession {
  @ApiField({ description: 'Id of the tunnel.', pattern: idPattern('tn'), example: `tn_${EXAMPLE_KSUID}` }) id!: string;
  @ApiField(uriField(TUNNELS_PATH, 'tn')) uri!: string;
  @ApiField(TARGETS) targets!: readonly object[];
}

@ApiSchemaName('TunnelSession')
export class TunnelSessionResource {
  @ApiField({ ...idField('ts'), description: 'Id of the session, made by its gateway.' }) id!: string;
  @ApiField(uriField(SESSIONS_PATH, 'ts')) uri!: string;
  @ApiField({ description: 'The credential that logged in; of several of one key, the oldest.', type: CredentialRef })
  credential!: CredentialRef;
  @ApiField(OWNER_ID) owner_id!: string;
  @ApiField(nullable(FINGERPRINT)) fingerprint!: string | null;
  @ApiField({ description: 'Address of the client; empty if the gateway does not tell.', example: '203.0.113.9' })
  ip!: string;
  @ApiField({ description: 'What the client calls itself; empty if unknown.', example: 'SSH-2.0-OpenSSH_9.2' })
  agent_version!: string;
  @ApiField(STARTED_AT) started_at!: string;
  @ApiField({ description: 'Id of the run of the gateway.', pattern: idPattern('gw'), example: `gw_${EXAMPLE_KSUID}` })
  gateway_id!: string;
  @ApiField(nullable(GATEWAY_NAME)) gateway_name!: string | null;
  @ApiField(counter('Bytes that its tunnels carried to the client')) bytes_in!: number | null;
  @ApiField(counter('Bytes that its tunnels carried from the client')) bytes_out!: number | null;
  @ApiField(CONNECTIONS) connections!: number | null;
  @ApiField({
    description: 'Whether its key is live from two sources for longer than 60 s: a copy.',
    type: 'boolean',
    example: false,
  })
  doubled!: boolean;
  @ApiField({ description: `Its newest tunnels, at most ${MAX_TUNNELS_OF_SESSION}.`, listOf: TunnelOfSession })
  tunnels!: readonly TunnelOfSession[];
  @ApiField({ description: 'How the client is connected.', enum: ['ssh'], example: 'ssh' }) transport!: string;
  @ApiField(EMPTY) metadata!: string;
  @ApiField(EMPTY) os!: string;
  @ApiField(EMPTY) region!: string;
}

@ApiSchemaName('Tunnel')
export class TunnelResource {
  @ApiField({ ...idField('tn'), description: 'Id of the tunnel, made by its gateway.' }) id!: string;
  @ApiField(uriField(TUNNELS_PATH, 'tn')) uri!: string;
  @ApiField({ description: 'Its session.', type: SessionRef }) tunnel_session!: SessionRef;
  @ApiField({ description: 'The credential that permits it.', type: CredentialRef }) credential!: CredentialRef;
  @ApiField(OWNER_ID) owner_id!: string;
  @ApiField(TARGETS) targets!: readonly object[];
  @ApiField({
    description: 'URL of an address, or of a name below `TUNNEL_DOMAIN`; else empty.',
    example: 'tcp://1.tcp.example.com:20000',
  })
  public_url!: string;
  @ApiField({ description: 'Scheme of `public_url`; else empty.', example: 'tcp' }) proto!: string;
  @ApiField({
    description: 'Its labels, with their values.',
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { app: 'build' },
  })
  labels!: Readonly<Record<string, string>>;
  @ApiField(STARTED_AT) started_at!: string;
  @ApiField(counter('Bytes from clients of the tunnel')) bytes_in!: number | null;
  @ApiField(counter('Bytes to clients of the tunnel')) bytes_out!: number | null;
  @ApiField(CONNECTIONS) connections!: number | null;
  @ApiField(EMPTY) forwards_to!: string;
  @ApiField(EMPTY) metadata!: string;
  @ApiField(EMPTY) region!: string;
}

/** For the runner of changes, which only knows what was stopped. */
export const STOPPED_SESSIONS: ResourceDescriptor<StoppedSession, TunnelSessionEvent> = {
  model: tunnelSessionsReadModel,
  idPrefix: 'ts',
  path: SESSIONS_PATH,
  notFound: sessionNotFound,
  toResource: (stopped) => stopped,
};

const uriOf = (baseUrl: string, path: string, id: string): string => `${baseUrl}/${path}/${id}`;
const ref = (baseUrl: string, path: string, id: string) => ({ id, uri: uriOf(baseUrl, path, id) });

/** It has no spreads: they took 4 ms of a page of 100 sessions with ten tunnels each. */
export function toSession(session: OpenSession, baseUrl: string): TunnelSessionResource {
  return {
    id: session.id,
    uri: uriOf(baseUrl, SESSIONS_PATH, session.id),
    credential: ref(baseUrl, SSH_CREDENTIALS.path, session.credential_id),
    owner_id: session.owner_id,
    fingerprint: session.fingerprint,
    ip: session.source ?? '',
    agent_version: session.client ?? '',
    started_at: session.started_at.toISOString(),
    gateway_id: session.gateway_id,
    gateway_name: session.gateway_name,
    bytes_in: session.bytes_in,
    bytes_out: session.bytes_out,
    connections: session.connections,
    doubled: session.doubled,
    tunnels: session.tunnels.map(({ id, targets }) => ({ id, uri: uriOf(baseUrl, TUNNELS_PATH, id), targets })),
    transport: 'ssh',
    metadata: '',
    os: '',
    region: '',
  };
}

export function toTunnel(tunnel: OpenTunnel, baseUrl: string, domain: TunnelDomain | undefined): TunnelResource {
  const { targets } = tunnel;
  const url = targets.flatMap((target) => urlOf(target, domain) ?? [])[0] ?? '';
  return {
    id: tunnel.id,
    uri: uriOf(baseUrl, TUNNELS_PATH, tunnel.id),
    tunnel_session: ref(baseUrl, SESSIONS_PATH, tunnel.session_id),
    credential: ref(baseUrl, SSH_CREDENTIALS.path, tunnel.credential_id),
    owner_id: tunnel.owner_id,
    targets,
    public_url: url,
    proto: url.replace(/:.*/, ''),
    labels: labelsOf(targets),
    started_at: tunnel.started_at.toISOString(),
    bytes_in: tunnel.bytes_in,
    bytes_out: tunnel.bytes_out,
    connections: tunnel.connections,
    forwards_to: '',
    metadata: '',
    region: '',
  };
}

const urlOf = ({ address, domain: name = '' }: TargetForm, domain: TunnelDomain | undefined): string | undefined =>
  address === undefined ? domain?.urlOf(name) : `tcp://${address}`;

const labelsOf = (targets: readonly TargetForm[]): Readonly<Record<string, string>> =>
  Object.fromEntries(targets.flatMap(({ label }) => (label === undefined ? [] : [[label.key, label.value]])));
