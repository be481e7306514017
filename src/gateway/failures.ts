import { messageOf } from '../kernel/error-message.js';
import type { GatewayLog } from './gateway-log.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import { PacedLog } from './paced-log.js';
import { Violation } from './protocol/violation.js';

/**
 * Where everything ends that goes wrong inside one connection. Whoever calls it has destroyed that connection; it is
 * counted, and the log has one line. No failure of a connection ends another one or the process.
 */
export class Failures {
  private readonly lines: PacedLog;

  constructor(
    log: GatewayLog,
    private readonly metrics: GatewayMetrics,
  ) {
    this.lines = new PacedLog(log, 'connections that failed');
  }

  /** `from`: the source of the connection. A fault of this program is an error; what a client did is not. */
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
