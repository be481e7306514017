import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Gateway } from '../../../kernel/caller.js';
import { RouteConfig } from '../../http/documentation.js';
import { answerStream, EVENT_STREAM } from '../../http/event-stream.js';
import { ApiGatewayAnswer, ApiTag } from '../../http/openapi/decorators.js';
import { gatewayOf, signalOf } from '../../http/request-context.js';
import { gatewayReader, type StreamReader } from './change-streams.js';
import { CredentialChanges, type GatewayChange } from './credential-changes.js';

@ApiTag('SSH gateways')
@Controller('ssh_gateway/changes')
export class RevocationsController {
  constructor(private readonly streams: CredentialChanges) {}

  @Get()
  @RouteConfig({ isForGateways: true })
  @ApiGatewayAnswer(
    { contentType: EVENT_STREAM },
    {
      id: 'followCredentialChanges',
      summary: 'Follow the credentials whose answers may have changed',
      description:
        'Server-Sent Events over all accounts, or over the one that the gateway serves. The event `ready` says that no later change will be missed, so recheck ' +
        'what you hold after it. The data of each event `changed` is `{"credential_ids": [...]}`: ask anew about those ' +
        'that you hold. The data of `stopped` is `{"sessions": [{"account_id", "session_id", "restart", "by"}]}`: end each one that is a session of this account. The data of `reserved` is `{"names": [...], "of_others": false}`, addresses and domains that were reserved or whose reservation was deleted: ask anew about what is bound at them or under them. A gateway of one account hears no names of others: `of_others` says that there are some, so ask anew about all that you hold. Events are numbered from 0 on, and a heartbeat has the number of the last one. When the stream ends or ' +
        'leaves out a number, open another one. The service keeps nothing for you meanwhile.',
      parameters: [],
    },
  )
  async changes(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await answerStream(request, reply, () => this.streams.open(signalOf(request), readerOf(gatewayOf(request))));
  }
}

/**
 * A reservation of one account takes an address from the tunnels of all others, so every gateway hears of it. It hears
 * no name of an account that it does not serve.
 */
function readerOf(gateway: Gateway): StreamReader<GatewayChange> {
  const reader = gatewayReader<GatewayChange>(gateway);
  const nameless = (change: GatewayChange) =>
    change.reserved === undefined ? undefined : { ...change, reserved: null };
  return { ...reader, heardOf: (change) => reader.heardOf(change) ?? nameless(change) };
}
