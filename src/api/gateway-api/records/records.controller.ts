import { Controller, Get } from '@nestjs/common';
import { type IdPrefix, isId } from '../../../kernel/ids.js';
import { malformed, quoted } from '../../../kernel/problem.js';
import { ApiList, ApiTag } from '../../http/openapi/decorators.js';
import { EXAMPLE_KSUID, idPattern, queryParameter } from '../../http/openapi/parts.js';
import { lastOf, pageOf, readPageRequest } from '../../http/pages.js';
import { Read, type ReadRequest } from '../../http/request-context.js';
import { refuseUnlessReadsEverything } from '../../resources/access-rules.js';
import { boundsOf, readTime, timeParameter } from '../decision-record/time-bounds.js';
import { Ended } from './ended.js';
import {
  EDGE_RECORDS_PATH,
  EdgeConnectionRecordResource,
  SESSION_RECORDS_PATH,
  SessionRecordResource,
  toRecord,
  toSessionRecord,
} from './records.resource.js';

const idParameter = (name: string, prefix: IdPrefix, description: string) =>
  queryParameter(name, description, {
    type: 'string',
    pattern: idPattern(prefix),
    examples: [`${prefix}_${EXAMPLE_KSUID}`],
  });

const OF_CREDENTIAL = idParameter('credential_id', 'sshcr', 'Only those of this SSH credential, which may be deleted.');
const OF_EDGE = idParameter('edge_id', 'edgtcp', 'Only those of this edge, which may be deleted.');
const TIMES = [
  timeParameter('ended_after', 'Only what ended at or after this time.'),
  timeParameter('ended_before', 'Only what ended before this time.'),
];
const KEPT = 'It is kept for `DECISIONS_RETENTION_DAYS`. For admins and auditors.';

/** What has ended: who tunnelled from where, so members may not read it. */
@ApiTag('Tunnel records', 'tsr')
@Controller(SESSION_RECORDS_PATH)
export class SessionRecordsController {
  constructor(private readonly ended: Ended) {}

  @Get()
  @ApiList(SessionRecordResource, SESSION_RECORDS_PATH, {
    id: 'listTunnelSessionRecords',
    summary: 'List the tunnel sessions that ended',
    description: `Sessions that ended, with their tunnels, by the time of the end. ${KEPT}`,
    problems: ['role_missing', 'request_malformed'],
    parameters: [OF_CREDENTIAL, ...TIMES],
    refusesUnknownParameters: true,
  })
  async list(@Read() { caller, baseUrl, query, signal }: ReadRequest) {
    refuseUnlessReadsEverything(caller, 'tunnel records');
    const page = readPageRequest(query, 'tsr');
    const filters = { credential_id: readId(query, 'credential_id', 'sshcr'), ...readTimes(query) };
    const wanted = {
      page,
      credentialId: filters.credential_id,
      ...boundsOf('tsr', filters.ended_after, filters.ended_before),
    };
    const found = await this.ended.sessions({ accountId: caller.accountId, signal }, wanted);
    const uri = `${baseUrl}/${SESSION_RECORDS_PATH}`;
    return pageOf(SESSION_RECORDS_PATH, uri, page, found, toSessionRecord, filters);
  }
}

@ApiTag('Tunnel records', 'ec')
@Controller(EDGE_RECORDS_PATH)
export class EdgeConnectionRecordsController {
  constructor(private readonly ended: Ended) {}

  @Get()
  @ApiList(EdgeConnectionRecordResource, EDGE_RECORDS_PATH, {
    id: 'listEdgeConnectionRecords',
    summary: 'List the connections to edges and names that ended',
    description: `Connections that a gateway carried to a tunnel, by the time of the end: from an edge, or one for each visitor of a name. ${KEPT}`,
    problems: ['role_missing', 'request_malformed'],
    parameters: [OF_EDGE, OF_CREDENTIAL, ...TIMES],
    refusesUnknownParameters: true,
  })
  async list(@Read() { caller, baseUrl, query, signal }: ReadRequest) {
    refuseUnlessReadsEverything(caller, 'tunnel records');
    const page = readPageRequest(query, 'ec');
    const filters = {
      edge_id: readId(query, 'edge_id', 'edgtcp'),
      credential_id: readId(query, 'credential_id', 'sshcr'),
      ...readTimes(query),
    };
    const { edge_id: edgeId, credential_id: credentialId } = filters;
    // No index has both, and an edge may have millions of records.
    if (edgeId !== undefined && credentialId !== undefined) throw malformed('Send edge_id or credential_id, not both.');
    const wanted = { page, edgeId, credentialId, ...boundsOf('ec', filters.ended_after, filters.ended_before) };
    const found = await this.ended.edgeConnections({ accountId: caller.accountId, signal }, wanted);
    return pageOf(EDGE_RECORDS_PATH, `${baseUrl}/${EDGE_RECORDS_PATH}`, page, found, toRecord, filters);
  }
}

type Query = Readonly<Record<string, unknown>>;

function readId(query: Query, name: string, prefix: IdPrefix): string | undefined {
  const id = lastOf(query[name]);
  if (id === undefined || isId(id, prefix)) return id;
  throw malformed(`${name} ${quoted(id)} is not an id that begins with ${prefix}_.`);
}

const readTimes = (query: Query) => ({
  ended_after: readTime('ended_after', query.ended_after),
  ended_before: readTime('ended_before', query.ended_before),
});
