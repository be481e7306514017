import type { onSendHookHandler } from 'fastify';
import type { RequestLog } from '../logging/request-log.js';

export const logAnswer =
  (requestLog: RequestLog): onSendHookHandler =>
  (request, reply, payload, done) => {
    requestLog.answered(request, reply);
    done(null, payload);
  };
