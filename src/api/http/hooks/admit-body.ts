import type { IncomingHttpHeaders } from 'node:http';
import type { preParsingHookHandler } from 'fastify';
import { Problem } from '../../../kernel/problem.js';
import { BODY_LIMIT_BYTES } from '../body-parsers.js';
import type { HttpConnections } from '../connections/connections.js';

/** Refuses a compressed body, and lets a client that waits for 100 send its body. */
export const admitBody =
  (connections: HttpConnections): preParsingHookHandler =>
  ({ headers }, reply, _payload, done) => {
    if (isCompressed(headers)) {
      // What is accepted instead: RFC 9110, 15.5.16.
      void reply.header('accept-encoding', 'identity');
      const message = 'The body is compressed (Content-Encoding); send it as plain JSON.';
      return done(new Problem('unsupported_content_type', message));
    }
    // A client need not send what will be refused anyway.
    const isTooLarge = Number(headers['content-length']) > BODY_LIMIT_BYTES;
    if (!isTooLarge) connections.sendContinue(reply.raw);
    done();
  };

function isCompressed(headers: IncomingHttpHeaders): boolean {
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  const hasBody = Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
  return coding !== 'identity' && hasBody;
}
