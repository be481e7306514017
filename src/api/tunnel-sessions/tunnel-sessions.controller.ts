import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { RouteConfig } from '../http/documentation.js';
import { ApiAct, ApiGetPart, ApiList, ApiTag } from '../http/openapi/decorators.js';
import { pageOf, readPageRequest } from '../http/pages.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { mayReadPrivate } from '../resources/access-rules.js';
import { Lists } from '../resources/lists.js';
import { ShowNothing } from '../resources/show-part.js';
import { type OpenSession, OpenSessions } from './open-sessions.js';
import { sessionNotFound } from './tunnel-session.js';
import { StopTunnelSession } from './tunnel-sessions.handlers.js';
import { SESSIONS_PATH, TunnelSessionResource, toSession } from './tunnel-sessions.resource.js';
import { FILTERS, readFilters, wantedBy } from './wanted-open.js';

const SEEN_BY = 'Members see those of the credentials that they own; admins and auditors see all.';

@ApiTag('Tunnel sessions', 'ts')
@Controller(SESSIONS_PATH)
export class TunnelSessionsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly sessions: OpenSessions,
    private readonly lists: Lists,
  ) {}

  @Get()
  @ApiList(TunnelSessionResource, SESSIONS_PATH, {
    id: 'listTunnelSessions',
    summary: 'List the open tunnel sessions',
    description: `SSH connections that are open now, as gateways report them. ${SEEN_BY}`,
    problems: ['request_malformed'],
    parameters: FILTERS,
  })
  list(@Read() request: ReadRequest) {
    const { caller, query, baseUrl } = request;
    const page = readPageRequest(query, 'ts');
    const filters = readFilters(query);
    const wanted = wantedBy(caller, filters);
    const toItem = (session: OpenSession) => toSession(session, baseUrl);
    return this.lists.page(
      request,
      async () => (wanted === undefined ? [] : this.sessions.listSessions(caller.accountId, page, wanted)),
      (found) => pageOf(SESSIONS_PATH, `${baseUrl}/${SESSIONS_PATH}`, page, found, toItem, filters),
    );
  }

  @Get(':id')
  @ApiGetPart(TunnelSessionResource, {
    id: 'getTunnelSession',
    summary: 'Get an open tunnel session',
    problems: ['not_found'],
  })
  async get(@Read() { caller, baseUrl }: ReadRequest, @Param('id') id: string): Promise<TunnelSessionResource> {
    const session = await this.sessions.findSession({ accountId: caller.accountId, id });
    if (session === undefined || !mayReadPrivate(caller, session)) throw sessionNotFound();
    return toSession(session, baseUrl);
  }

  @Post(':id/stop')
  @HttpCode(204)
  @RouteConfig({ ignoresBody: true })
  @ApiAct({
    id: 'stopTunnelSession',
    summary: 'Stop a tunnel session',
    description:
      'Its gateway ends the connection within a second. The client may come back: to stop it for good, delete the credential or ' +
      'let it expire.',
    problems: ['not_found'],
  })
  @ShowNothing()
  stop(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new StopTunnelSession(context, id, false));
  }

  @Post(':id/restart')
  @HttpCode(204)
  @RouteConfig({ ignoresBody: true })
  @ApiAct({
    id: 'restartTunnelSession',
    summary: 'Restart a tunnel session',
    description: 'As stop, but the client is told to connect again. A client such as autossh does so.',
    problems: ['not_found'],
  })
  @ShowNothing()
  restart(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new StopTunnelSession(context, id, true));
  }
}
