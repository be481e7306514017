import { MAX_LOG_BYTES } from '../../../rules/index.js';
import { ApiField } from '../../http/openapi/decorators.js';
import { EXAMPLE_KSUID, idPattern } from '../../http/openapi/parts.js';
import { Anything, List, ObjectOf, Text } from '../../http/validated-body.js';
import { TARGET_SCHEMA } from '../decision-record/bind-decision-fields.js';
import { MAX_ITEMS } from './session-report.js';
import { IGNORED } from './session-reports.js';

const id = (prefix: 'ac' | 'edgtcp' | 'gw' | 'sshcr' | 'tn' | 'ts') => ({ type: 'string', pattern: idPattern(prefix) });
const NUMBER = { type: ['integer', 'null'], minimum: 0 };
const TRAFFIC = { bytes_in: NUMBER, bytes_out: NUMBER, connections: NUMBER };
const AGO = {
  type: 'integer',
  description: 'How long ago, in milliseconds. Less than 0 is in the future: it does not count.',
};
const REASON = { type: 'string', pattern: '^[a-z_]{1,64}$' };
const TEXT = { type: ['string', 'null'], maxLength: 255 };

const items = (properties: Record<string, object>, ...optional: readonly string[]) => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});
const COUNTERS = ['bytes_in', 'bytes_out', 'connections'];
const END = (prefix: 'tn' | 'ts') =>
  items({ account_id: id('ac'), id: id(prefix), ago_ms: AGO, reason: REASON, ...TRAFFIC }, ...COUNTERS);

const list = (description: string, schema: object) => ({
  description: `${description} At most ${MAX_ITEMS}.`,
  maxItems: MAX_ITEMS,
  items: schema,
  example: [],
});

const SESSION = items(
  {
    ...{ account_id: id('ac'), id: id('ts'), credential_id: id('sshcr') },
    ...{ fingerprint: TEXT, source: TEXT, client: TEXT, ago_ms: AGO },
  },
  ...['fingerprint', 'source', 'client'],
);
const TUNNEL = items({
  ...{ account_id: id('ac'), id: id('tn'), session_id: id('ts'), credential_id: id('sshcr') },
  ...{ targets: { type: 'array', items: TARGET_SCHEMA, minItems: 1, maxItems: 100 }, ago_ms: AGO },
});
const USED = items(
  { account_id: id('ac'), id: { type: 'string', pattern: '^t[ns]_[0-9A-Za-z]{27}$' }, ...TRAFFIC },
  ...COUNTERS,
);
const LOGS = {
  type: ['array', 'null'],
  description: `What actions of \`log\` of the traffic policy said, at most ${MAX_LOG_BYTES} bytes as JSON.`,
  items: items({ place: { type: 'string', maxLength: 255 }, metadata: { type: 'object', additionalProperties: true } }),
};
const EDGE_CONNECTION = items(
  {
    ...{ account_id: id('ac'), edge_id: id('edgtcp'), hostport: { type: 'string' }, client: TEXT },
    ...{ session_id: id('ts'), tunnel_id: id('tn'), credential_id: id('sshcr'), ago_ms: AGO },
    ...{ ms: { type: 'integer', minimum: 0 }, bytes_in: NUMBER, bytes_out: NUMBER, reason: REASON, logs: LOGS },
  },
  ...['client', 'session_id', 'tunnel_id', 'credential_id', 'bytes_in', 'bytes_out', 'logs'],
);

const HOST = items({
  host: { type: 'string', maxLength: 255 },
  listen_address: {
    ...{ type: 'string', maxLength: 255 },
    description: 'Hosts are names of one address if it is the same, or covers the other.',
  },
});

class ToldGateway {
  @List(list('Hosts of the gateway.', HOST)) hosts?: unknown[];
}

export class SessionReportBody {
  @Text({
    description: 'Id of the gateway, made anew at each start.',
    required: true,
    pattern: idPattern('gw'),
    example: `gw_${EXAMPLE_KSUID}`,
  })
  gateway_id?: string;
  @Anything({
    description: 'Number of the report. It grows; a report that is sent again has its number again.',
    type: 'integer',
    required: true,
    example: 7,
  })
  report?: unknown;
  @List(list('Sessions that are open.', SESSION)) sessions?: unknown[];
  @List(list('Tunnels that are open.', TUNNEL)) tunnels?: unknown[];
  @List(list('What open sessions and tunnels have carried so far.', USED)) used?: unknown[];
  @List(list('Tunnels that ended.', END('tn'))) ended_tunnels?: unknown[];
  @List(list('Sessions that ended.', END('ts'))) ended_sessions?: unknown[];
  @List(list('Connections through edges that ended; `ago_ms` is since the end.', EDGE_CONNECTION))
  edge_connections?: unknown[];
  @Anything({
    description:
      'All that is open now stands in the reports from this one on. What else the service holds of this gateway has ended.',
    type: 'integer',
    example: 5,
  })
  whole_since?: unknown;
  @ObjectOf(ToldGateway, {
    description:
      'What the gateway says of itself, with `whole_since`. If it serves all accounts, nobody reserves a domain that covers one of the hosts, or another name of an address that somebody else has reserved.',
  })
  gateway?: ToldGateway;
}

class IgnoredItem {
  @ApiField({
    description: 'Id of the item; of a connection, the id of its edge, or an id that the record leaves out.',
    example: `ts_${EXAMPLE_KSUID}`,
  })
  id!: string;
  @ApiField({ description: 'Why it does not count.', enum: IGNORED, example: 'unknown_credential' }) reason!: string;
}

class StoppedSession {
  @ApiField({ description: 'Id of its account.', example: `ac_${EXAMPLE_KSUID}` }) account_id!: string;
  @ApiField({ description: 'Id of the session.', example: `ts_${EXAMPLE_KSUID}` }) session_id!: string;
  @ApiField({ description: 'Whether the client is to come back.', example: false }) restart!: boolean;
  @ApiField({ description: 'Name or id of who stopped it.', example: 'Alice' }) by!: string;
}

export class SessionReportAnswer {
  @ApiField({
    description: 'False if this report, or a later one, was counted before: nothing of it is stored.',
    example: true,
  })
  counted!: boolean;
  @ApiField({ description: 'What does not count.', listOf: IgnoredItem, example: [] }) ignored!: readonly IgnoredItem[];
  @ApiField({
    description: 'The service does not hold all that is open: report it wholly, and end with `whole_since`.',
    example: false,
  })
  send_whole!: boolean;
  @ApiField({ description: 'Sessions to end, in the answer to `whole_since`.', listOf: StoppedSession, example: [] })
  stops!: readonly StoppedSession[];
}
