import { type IdPrefix, isId } from '../../../kernel/ids.js';
import { isJsonObject } from '../../../kernel/json-object.js';
import { malformed, quoted } from '../../../kernel/problem.js';
import { canonicalHost, MAX_LOG_BYTES, ParseError } from '../../../rules/index.js';
import { itemsOf, ListOf } from '../../http/checked-list.js';
import type { Field } from '../../http/documentation.js';
import { EXAMPLE_KSUID, idPattern } from '../../http/openapi/parts.js';
import { ObjectOf, objectOf, Read } from '../../http/validated-body.js';
import { readTarget } from '../binds/gateway-requests.js';
import { TARGET_SCHEMA } from '../decision-record/bind-decision-fields.js';
import { toRequestForm } from '../decisions/bind-target-form.js';

/** A report of a gateway. Times are the database's, so a report has ages in milliseconds. */

const MAX_ITEMS = 1_000;
const MAX_TARGETS = 100;
const MAX_TEXT = 255;
/** Ten years. */
const MAX_AGE_MS = 315_576_000_000;
const ANY_NUMBER = Number.MAX_SAFE_INTEGER;

/** A field whose value passes a test. */
const Tested = (field: Field, must: string, test: (value: unknown) => boolean): PropertyDecorator =>
  Read(field, (value, name) => {
    if (test(value)) return value;
    throw malformed(`${name} must be ${must}.`);
  });

/** An id with one of the prefixes. */
const Id = (description: string, prefixes: readonly [IdPrefix, ...IdPrefix[]], required = true): PropertyDecorator =>
  Tested(
    {
      ...{ description, required, type: 'string', pattern: prefixes.map(idPattern).join('|') },
      example: `${prefixes[0]}_${EXAMPLE_KSUID}`,
    },
    `an id that begins with ${prefixes.join('_ or ')}_`,
    (value) => typeof value === 'string' && prefixes.some((prefix) => isId(value, prefix)),
  );

const Whole = (field: Field, { minimum = 0, maximum = ANY_NUMBER } = {}): PropertyDecorator =>
  Tested(
    { type: 'integer', minimum, ...(maximum < ANY_NUMBER && { maximum }), example: 7, ...field },
    `a whole number from ${minimum} to ${maximum}`,
    (value) => Number.isSafeInteger(value) && Number(value) >= minimum && Number(value) <= maximum,
  );

const Ago = (): PropertyDecorator =>
  Whole(
    {
      description: 'How long ago, in milliseconds. Less than 0 is in the future: it does not count.',
      required: true,
    },
    { minimum: -MAX_AGE_MS, maximum: MAX_AGE_MS },
  );

const ShortText = (description: string, example: string, required = false): PropertyDecorator =>
  Tested(
    { description, required, type: 'string', minLength: required ? 1 : 0, maxLength: MAX_TEXT, example },
    `a text of ${required ? 1 : 0} to ${MAX_TEXT} characters`,
    (value) => typeof value === 'string' && value.length <= MAX_TEXT && (value !== '' || !required),
  );

const Items = (itemClass: new () => object, description: string): PropertyDecorator =>
  ListOf(itemClass, { description: `${description} At most ${MAX_ITEMS}.`, maxItems: MAX_ITEMS, example: [] });

const REASON = '^[a-z_]{1,64}$';
const Reason = (): PropertyDecorator =>
  Tested(
    { description: 'Why it ended.', type: 'string', pattern: REASON, required: true, example: 'client' },
    '1 to 64 of a-z and _',
    (value) => typeof value === 'string' && new RegExp(REASON).test(value),
  );

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

/** Undefined if there are none. */
function readLogs(value: unknown, name: string): readonly unknown[] | undefined {
  const logs = itemsOf(objectOf(ReportedLog), MAX_LOG_BYTES)(value, name);
  const bytes = logs.reduce((sum: number, log) => sum + Buffer.byteLength(JSON.stringify(log)), 0);
  if (bytes > MAX_LOG_BYTES) throw malformed(`${name} has ${bytes} bytes as JSON; the maximum is ${MAX_LOG_BYTES}.`);
  return logs.length === 0 ? undefined : logs;
}

/** What an action of `log` of a traffic policy said. */
class ReportedLog {
  @ShortText('Place of the action `log`.', 'on_tcp_connect[0].actions[0]', true) place!: string;
  @Read(
    { description: 'What it says.', type: 'object', additionalProperties: true, required: true, example: {} },
    (value, name) => {
      if (isJsonObject(value)) return value;
      throw malformed(`${name} must be an object.`);
    },
  )
  metadata!: object;
}

class OfAccount {
  @Id('Id of the account.', ['ac']) account_id!: string;
}

class ReportedSession extends OfAccount {
  @Id('Id of the session, made by the gateway.', ['ts']) id!: string;
  @Id('Id of the credential that let it in.', ['sshcr']) credential_id!: string;
  @ShortText('Fingerprint of the key.', 'SHA256:...') fingerprint?: string;
  @ShortText('Address of the client.', '203.0.113.9') source?: string;
  @ShortText('What the client calls itself.', 'SSH-2.0-OpenSSH_9.2') client?: string;
  @Ago() ago_ms!: number;
}

class ReportedTunnel extends OfAccount {
  @Id('Id of the tunnel, made by the gateway.', ['tn']) id!: string;
  @Id('Id of its session.', ['ts']) session_id!: string;
  @Id('Id of the credential that permitted it.', ['sshcr']) credential_id!: string;
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
  @Whole({ description: 'Bytes to the client of the tunnel.' }) bytes_in?: number;
  @Whole({ description: 'Bytes from the client of the tunnel.' }) bytes_out?: number;
}

class ReportedUse extends OfTraffic {
  @Id('Id of the session or the tunnel.', ['ts', 'tn']) id!: string;
  @Whole({ description: 'Connections.' }) connections?: number;
}

export class ReportedEnd extends ReportedUse {
  @Ago() ago_ms!: number;
  @Reason() reason!: string;
}

export class ReportedConnection extends OfTraffic {
  @Id('Id of the edge.', ['edgtcp']) edge_id!: string;
  @ShortText('Hostport of the edge.', '1.tcp.example.com:20000', true) hostport!: string;
  @ShortText('Address and port of the client.', '203.0.113.9:50312') client?: string;
  @Id('Id of the session that carried it.', ['ts'], false) session_id?: string;
  @Id('Id of the tunnel that carried it.', ['tn'], false) tunnel_id?: string;
  @Id('Id of the credential of the tunnel.', ['sshcr'], false) credential_id?: string;
  @Ago() ago_ms!: number;
  @Whole({ description: 'How long it was open, in milliseconds.', required: true }, { maximum: MAX_AGE_MS })
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
  @ShortText('Hosts are names of one address if it is the same, or covers the other.', '127.0.0.1', true)
  listen_address!: string;
}

/** What a gateway says of itself. The row of the gateway keeps it in this form. */
class ReportedGateway {
  @Items(ReportedHost, 'Hosts of the gateway.') hosts: readonly ReportedHost[] = [];
}

export class SessionReport {
  @Id('Id of the gateway, made anew at each start.', ['gw']) gateway_id!: string;
  @Whole(
    {
      description: 'Number of the report. It grows; a report that is sent again has its number again.',
      required: true,
    },
    { minimum: 1 },
  )
  report!: number;
  @Items(ReportedSession, 'Sessions that are open.') sessions: readonly ReportedSession[] = [];
  @Items(ReportedTunnel, 'Tunnels that are open.') tunnels: readonly ReportedTunnel[] = [];
  @Items(ReportedUse, 'What open sessions and tunnels have carried so far.') used: readonly ReportedUse[] = [];
  @Items(ReportedEnd, 'Tunnels that ended.') ended_tunnels: readonly ReportedEnd[] = [];
  @Items(ReportedEnd, 'Sessions that ended.') ended_sessions: readonly ReportedEnd[] = [];
  @Items(ReportedConnection, 'Connections through edges that ended; `ago_ms` is since the end.')
  edge_connections: readonly ReportedConnection[] = [];
  @Whole(
    {
      description:
        'All that is open now stands in the reports from this one on. What else the service holds of this gateway has ended.',
    },
    { minimum: 1 },
  )
  whole_since?: number;
  @ObjectOf(ReportedGateway, {
    description:
      'What the gateway says of itself, with `whole_since`. If it serves all accounts, nobody reserves a domain that covers one of the hosts, or another name of an address that somebody else has reserved.',
  })
  gateway?: ReportedGateway;
}

/** The lists of a report that have items of accounts. */
export const LISTS = ['sessions', 'tunnels', 'used', 'ended_tunnels', 'ended_sessions', 'edge_connections'] as const;
