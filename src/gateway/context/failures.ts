import { messageOf } from '../../kernel/error-message.js';
import type { GatewayLog } from '../gateway-log.js';
import { RateLimitedLog } from '../log/rate-limited-log.js';
import { Violation } from '../protocol/violation.js';
import type { GatewayMetrics } from './gateway-metrics.js';

/**
 * Counts and logs what goes wrong inside one connection. The caller has ended that connection. No failure of a
 * connection ends another connection or the process.
 */
export class Failures {
  private readonly lines: RateLimitedLog;

  constructor(
    log: GatewayLog,
    private readonly metrics: GatewayMetrics,
  ) {
    this.lines = new RateLimitedLog(log, 'connections that failed');
  }

  /**
   * `from`: the source of the connection. A fault of this program is logged as an error; a violation by a client is
   * not.
   */
  count(from: string, error: unknown): void {
    if (error instanceof Violation) {
      this.metrics.endedConnections.inc({ reason: error.reason });
      this.lines.line(
        { name: from },
        { source: from, reason: error.reason },
        `ended a connection: the client ${error.message}`,
      );
      return;
    }
    this.metrics.endedConnections.inc({ reason: 'internal' });
    const message = `ended a connection that failed: ${messageOf(error)}`;
    this.lines.line({ name: from }, { source: from, err: error }, message, 'error');
  }
}
