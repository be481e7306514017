import { Controller, Get, Param } from '@nestjs/common';
import { ApiGetPart, ApiList, ApiTag } from '../http/openapi/decorators.js';
import { pageOf, readPageRequest } from '../http/pages.js';
import { Read, type ReadRequest } from '../http/request-context.js';
import { ReservationPolicy } from '../reservations/address-pools.js';
import { mayReadPrivate } from '../resources/access-rules.js';
import { Lists } from '../resources/lists.js';
import { OpenSessions, type OpenTunnel } from './open-sessions.js';
import { sessionNotFound } from './tunnel-session.js';
import { TUNNELS_PATH, TunnelResource, toTunnel } from './tunnel-sessions.resource.js';
import { FILTERS, readFilters, wantedBy } from './wanted-open.js';

@ApiTag('Tunnels', 'tn')
@Controller(TUNNELS_PATH)
export class TunnelsController {
  constructor(
    private readonly sessions: OpenSessions,
    private readonly lists: Lists,
    private readonly policy: ReservationPolicy,
  ) {}

  @Get()
  @ApiList(TunnelResource, TUNNELS_PATH, {
    id: 'listTunnels',
    summary: 'List the open tunnels',
    description:
      'Binds that are open now. Members see those of the credentials that they own; admins and auditors see all.',
    problems: ['request_malformed'],
    parameters: FILTERS,
  })
  list(@Read() request: ReadRequest) {
    const { caller, query, baseUrl } = request;
    const page = readPageRequest(query, 'tn');
    const filters = readFilters(query);
    const wanted = wantedBy(caller, filters);
    const toItem = (tunnel: OpenTunnel) => toTunnel(tunnel, baseUrl, this.policy.tunnelDomain);
    return this.lists.page(
      request,
      async () => (wanted === undefined ? [] : this.sessions.listTunnels(caller.accountId, page, wanted)),
      (found) => pageOf(TUNNELS_PATH, `${baseUrl}/${TUNNELS_PATH}`, page, found, toItem, filters),
    );
  }

  @Get(':id')
  @ApiGetPart(TunnelResource, { id: 'getTunnel', summary: 'Get an open tunnel', problems: ['not_found'] })
  async get(@Read() { caller, baseUrl }: ReadRequest, @Param('id') id: string): Promise<TunnelResource> {
    const tunnel = await this.sessions.findTunnel({ accountId: caller.accountId, id });
    if (tunnel === undefined || !mayReadPrivate(caller, tunnel)) throw sessionNotFound();
    return toTunnel(tunnel, baseUrl, this.policy.tunnelDomain);
  }
}
