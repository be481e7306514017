import type { Readable } from 'node:stream';
import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../kernel/caller.js';
import type { StreamReader } from '../gateway-api/revocations/change-streams.js';
import { Authenticator } from '../http/authenticator.js';
import { answerStream, EVENT_STREAM } from '../http/event-stream.js';
import { ApiAccountAnswer, ApiTag } from '../http/openapi/decorators.js';
import { callerOf, signalOf } from '../http/request-context.js';
import { readsEverything } from '../resources/access-rules.js';
import { type ChangedSession, SessionChangeStreams } from './session-changes.js';
import { SESSIONS_PATH } from './tunnel-sessions.resource.js';

/** How long a reader may still read after its key was revoked or its owner lost the role. */
const CHECK_EVERY_MS = 1_000;

/** The news of sessions. Its path comes before `:id` of the lists. */
@ApiTag('Tunnel sessions')
@Controller(`${SESSIONS_PATH}/changes`)
export class SessionChangesController {
  constructor(
    private readonly streams: SessionChangeStreams,
    private readonly authenticator: Authenticator,
  ) {}

  @Get()
  @ApiAccountAnswer(
    { contentType: EVENT_STREAM },
    {
      id: 'followTunnelSessions',
      summary: 'Follow the tunnel sessions that open and end',
      description:
        'Server-Sent Events. `ready` says that no later change will be missed, so list the sessions after it. `opened`, `ended` and ' +
        '`doubled` (its key is live from two sources) come within seconds. Their data is that of the lists, with `session_id`. A session that opens and ends at once ' +
        'has its end alone. One whose gateway was silent ends with the reason `gateway_lost`, and opens again when it is back. An ' +
        'event may tell what the list had already. Members hear of the credentials that they own. When the stream ends or leaves ' +
        'out a number, open another one and list again; `/tunnel_session_records` has what ended.',
      problems: ['request_malformed'],
      refusesUnknownParameters: true,
    },
  )
  async changes(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await answerStream(request, reply, () => this.open(request));
  }

  private async open(request: FastifyRequest): Promise<Readable> {
    const caller = callerOf(request);
    const stream = await this.streams.open(signalOf(request), readerOf(caller));
    void stream.endUnless(() => this.authenticator.isStillAuthorized(request, caller), CHECK_EVERY_MS);
    return stream;
  }
}

const readerOf = (caller: Caller): StreamReader<ChangedSession> => ({
  place: `of ${caller.principalId}`,
  who: 'This user or bot',
  advice: 'close one',
  heardOf: (changed) =>
    changed.accountId === caller.accountId && (readsEverything(caller) || changed.ownerId === caller.principalId)
      ? changed
      : undefined,
});
