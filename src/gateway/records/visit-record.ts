import { sourceOf } from '../../rules/index.js';
import type { GatewayContext } from '../context/gateway-context.js';
import type { Endpoint } from '../endpoint.js';

/** A request as far as it is told. */
interface Visit {
  readonly host: string;
  readonly source: Endpoint;
}

/** Writes log lines and metrics about the requests of one visitor of names. */
export class VisitRecord {
  constructor(private readonly context: Pick<GatewayContext, 'lines' | 'metrics' | 'names'>) {}

  malformed(): void {
    this.context.metrics.visits.inc({ outcome: 'malformed' });
  }

  /** The name is not served: no tunnel has it, or none of its tunnels answers. */
  refused(outcome: 'no_tunnel' | 'no_answer', { host, source: { address: source } }: Visit): void {
    this.context.metrics.visits.inc({ outcome });
    const [account] = this.context.names.pathOf(host) ?? [];
    const subject = { name: sourceOf(source), ...(account !== undefined && { account }) };
    const fields = { event: 'http_refused', host, source, outcome, ...(account !== undefined && { account }) };
    this.context.lines.visits.line(subject, fields, 'did not serve a name');
  }
}
