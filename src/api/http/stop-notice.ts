import type { onSendHookHandler } from 'fastify';

/** Given before a stop: the instance still serves, and tells whoever asks to go elsewhere. */
export class StopNotice {
  private given = false;

  get isGiven(): boolean {
    return this.given;
  }

  give(): void {
    this.given = true;
  }
}

/** Ends a kept connection with its answer. The client sees it and sends no further request into a closing connection. */
export const leaveConnections =
  (notice: StopNotice): onSendHookHandler =>
  (_, reply, payload, done) => {
    if (notice.isGiven) reply.raw.shouldKeepAlive = false;
    done(null, payload);
  };
