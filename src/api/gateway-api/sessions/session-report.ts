import type { IdPrefix } from '../../../kernel/ids.js';
import { malformed, quoted } from '../../../kernel/problem.js';
import { canonicalHost, MAX_LOG_BYTES, ParseError } from '../../../rules/index.js';
import { Checked, itemsOf, ListOf } from '../../http/checked.js';
import { EXAMPLE_KSUID, idPattern } from '../../http/openapi/parts.js';
import { ObjectOf, objectOf, Read } from '../../http/validated-body.js';
import { readTarget } from '../binds/gateway-requests.js';
import { TARGET_SCHEMA } from '../decision-record/bind-decision-fields.js';
import { toRequestForm } from '../decisions/bind-target-form.js';

/** A report of a gateway. Times are the database's, so a report has ages in milliseconds. */

const MAX_ITEMS = 1_000;
const MAX_TARGETS = 100;
const MAX_TEXT = 255;
/** Our gateway has two: Ed25519 and ECDSA. */
const MAX_HOST_KEYS = 4;
const MAX_HOST_KEY_CHARACTERS = 1_024;
const HOST_KEY = /^[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2}$/;
/** Ten years. */
const MAX_AGE_MS = 315_576_000_000;

const id = (prefix: IdPrefix, description: string) => ({
  ...{ description, type: 'string' as const, pattern: idPattern(prefix) },
  example: `${prefix}_${EXAMPLE_KSUID}`,
});
const Id = (prefix: IdPrefix, description: string): PropertyDecorator =>
  Checked({ ...id(prefix, description), required: true });
const OptionalId = (prefix: IdPrefix, description: string): PropertyDecorator => Checked(id(prefix, description));

const text = (description: string, example: string) => ({
  ...{ description, type: 'string' as const, maxLength: MAX_TEXT, example },
});
const Text = (description: string, example: string): PropertyDecorator =>
  Checked({ ...text(description, example), required: true, minLength: 1 });
const OptionalText = (description: string, example: string): PropertyDecorator => Checked(text(description, example));

const Count = (description: string): PropertyDecorator =>
  Checked({ description, type: 'integer', minimum: 0, example: 7 });
const Ago = (): PropertyDecorator =>
  Checked({
    ...{ type: 'integer', minimum: -MAX_AGE_MS, maximum: MAX_AGE_MS, required: true, example: 80 },
    description: 'How long ago, in milliseconds. Less than 0 is in the future: it does not count.',
  });
const Reason = (): PropertyDecorator =>
  Checked({
    ...{ description: 'Why it ended.', type: 'string', pattern: '^[a-z_]{1,64}$' },
    ...{ required: true, example: 'client' },
  });

const Items = (itemClass: new () => object, description: string): PropertyDecorator =>
  ListOf(itemClass, { description: `${description} At most ${MAX_ITEMS}.`, maxItems: MAX_ITEMS, example: [] });

/** In the form in which decisions record them. */
function readTargets(value: unknown, name: string): readonly object[] {
  const targets = itemsOf((target, at) => toRequestForm(readTarget(target, at)), MAX_TARGETS)(value, name);
  if (targets.length === 0) throw malformed(`${name} must be a list of 1 to ${MAX_TARGETS} targets.`);
  return targets as object[];
}

function readHost(value: unknown, name: string): string {
  if (typeof value !== 'string') throw malformed(`${name} must be a text.`);
  try {
    return canonicalHost(value);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw malformed(`${name} ${quoted(value)} is not a host: ${error.message}.`);
  }
}

function readHostKey(value: unknown, name: string): string {
  if (typeof value === 'string' && value.length <= MAX_HOST_KEY_CHARACTERS && HOST_KEY.test(value)) return value;
  throw malformed(`${name} must be a type of key, a blank and the key in base64.`);
}

/** Undefined if there are none. */
function readLogs(value: unknown, name: string): readonly unknown[] | undefined {
  const logs = itemsOf(objectOf(ReportedLog), MAX_LOG_BYTES)(value, name);
  const bytes = logs.reduce((sum: number, log) => sum + Buffer.byteLength(JSON.stringify(log)), 0);
  if (bytes > MAX_LOG_BYTES) throw malformed(`${name} has ${bytes} bytes as JSON; the maximum is ${MAX_LOG_BYTES}.`);
  return logs.length === 0 ? undefined : logs;
}

/** What an action of `log` of a traffic policy said. */
class ReportedLog {
  @Text('Place of the action `log`.', 'on_tcp_connect[0].actions[0]') place!: string;
  @Checked({ description: 'What it says.', type: 'object', additionalProperties: true, required: true, example: {} })
  metadata!: object;
}

class OfAccount {
  @Id('ac', 'Id of the account.') account_id!: string;
}

class ReportedSession extends OfAccount {
  @Id('ts', 'Id of the session, made by the gateway.') id!: string;
  @Id('sshcr', 'Id of the credential that let it in.') credential_id!: string;
  @OptionalText('Fingerprint of the key.', 'SHA256:...') fingerprint?: string;
  @OptionalText('Address of the client.', '203.0.113.9') source?: string;
  @OptionalText('What the client calls itself.', 'SSH-2.0-OpenSSH_9.2') client?: string;
  @Ago() ago_ms!: number;
}

class ReportedTunnel extends OfAccount {
  @Id('tn', 'Id of the tunnel, made by the gateway.') id!: string;
  @Id('ts', 'Id of its session.') session_id!: string;
  @Id('sshcr', 'Id of the credential that permitted it.') credential_id!: string;
  @Read(
    {
      ...{ description: 'What it is bound to.', type: 'array', items: TARGET_SCHEMA, minItems: 1 },
      ...{ maxItems: MAX_TARGETS, required: true, example: [{ address: '1.tcp.example.com:20000' }] },
    },
    readTargets,
  )
  targets!: readonly object[];
  @Ago() ago_ms!: number;
}

/** Counters are absent where the gateway does not count. */
class OfTraffic extends OfAccount {
  @Count('Bytes to the client of the tunnel.') bytes_in?: number;
  @Count('Bytes from the client of the tunnel.') bytes_out?: number;
}

class ReportedUse extends OfTraffic {
  @Checked({
    ...{ description: 'Id of the session or the tunnel.', type: 'string', required: true },
    ...{ pattern: '^t[sn]_[0-9A-Za-z]{27}$', example: `tn_${EXAMPLE_KSUID}` },
  })
  id!: string;
  @Count('Connections.') connections?: number;
}

export class ReportedEnd extends ReportedUse {
  @Ago() ago_ms!: number;
  @Reason() reason!: string;
}

export class ReportedConnection extends OfTraffic {
  @OptionalId('edgtcp', 'Id of the edge, with its `hostport`; or else `host`.') edge_id?: string;
  @OptionalText('Hostport of the edge.', '1.tcp.example.com:20000') hostport?: string;
  @OptionalText('Name of a bound domain, with `credential_id`.', 'app.example.com') host?: string;
  @OptionalText('Address and port of the client.', '203.0.113.9:50312') client?: string;
  @OptionalId('ts', 'Id of the session that carried it.') session_id?: string;
  @OptionalId('tn', 'Id of the tunnel that carried it.') tunnel_id?: string;
  @OptionalId('sshcr', 'Id of the credential of the tunnel.') credential_id?: string;
  @Ago() ago_ms!: number;
  @Checked({
    ...{ description: 'How long it was open, in milliseconds.', type: 'integer', minimum: 0, maximum: MAX_AGE_MS },
    ...{ required: true, example: 7 },
  })
  ms!: number;
  @Reason() reason!: string;
  @Read(
    {
      description: `What actions of \`log\` of the traffic policy said, at most ${MAX_LOG_BYTES} bytes as JSON.`,
      ...{ listOf: ReportedLog, example: [] },
    },
    readLogs,
  )
  logs?: readonly ReportedLog[];
}

class ReportedHost {
  @Read({ description: 'A host name or an address.', type: 'string', required: true, example: 'localhost' }, readHost)
  host!: string;
  @Text('Hosts are names of one address if it is the same, or covers the other.', '127.0.0.1')
  listen_address!: string;
}

/** What a gateway says of itself. The row of the gateway keeps it in this form. */
class ReportedGateway {
  @OptionalText('Host and port where SSH clients reach it. Absent: it does not know.', 'ssh.example.com:2222')
  address?: string;
  @Read(
    {
      ...{ description: 'Its host keys, as lines without comments.', type: 'array', items: { type: 'string' } },
      ...{ maxItems: MAX_HOST_KEYS, example: [] },
    },
    itemsOf(readHostKey, MAX_HOST_KEYS),
  )
  host_keys: readonly string[] = [];
  @Items(ReportedHost, 'Hosts of the gateway.') hosts: readonly ReportedHost[] = [];
}

export class SessionReport {
  @Id('gw', 'Id of the gateway, made anew at each start.') gateway_id!: string;
  @Checked({
    description: 'Number of the report. It grows; a report that is sent again has its number again.',
    ...{ type: 'integer', minimum: 1, required: true, example: 7 },
  })
  report!: number;
  @Items(ReportedSession, 'Sessions that are open.') sessions: readonly ReportedSession[] = [];
  @Items(ReportedTunnel, 'Tunnels that are open.') tunnels: readonly ReportedTunnel[] = [];
  @Items(ReportedUse, 'What open sessions and tunnels have carried so far.') used: readonly ReportedUse[] = [];
  @Items(ReportedEnd, 'Tunnels that ended.') ended_tunnels: readonly ReportedEnd[] = [];
  @Items(ReportedEnd, 'Sessions that ended.') ended_sessions: readonly ReportedEnd[] = [];
  @Items(ReportedConnection, 'Connections through edges that ended; `ago_ms` is since the end.')
  edge_connections: readonly ReportedConnection[] = [];
  @Checked({
    description:
      'All that is open now stands in the reports from this one on. What else the service holds of this gateway has ended.',
    ...{ type: 'integer', minimum: 1, example: 5 },
  })
  whole_since?: number;
  @ObjectOf(ReportedGateway, {
    description:
      'What the gateway says of itself, with `whole_since`. If it serves all accounts, nobody reserves a domain that covers one of the hosts, or another name of an address that somebody else has reserved.',
  })
  gateway?: ReportedGateway;
}

/** The lists of a report that have items of accounts. */
export const LISTS = ['sessions', 'tunnels', 'used', 'ended_tunnels', 'ended_sessions', 'edge_connections'] as const;
