import { ServiceUnavailable } from '../service/service-unavailable.js';
import type { ServiceClient } from '../service-client.js';
import type { EdgeAnswer } from './edge-answer.js';

/** The service's answers about edges. Each rejects with ServiceUnavailable if there is none. */
export class EdgesOfService {
  constructor(private readonly service: ServiceClient) {}

  async portsOf(host: string): Promise<readonly number[]> {
    return (await this.ask<{ ports: number[] }>('edges/ports', { host })).ports;
  }

  at(hostport: string): Promise<EdgeAnswer> {
    return this.ask<EdgeAnswer>('edges', { hostport });
  }

  /** For an edge with too many rules for an answer. */
  async isAllowed(hostport: string, edgeId: string, source: string): Promise<boolean> {
    const { edges } = await this.ask<EdgeAnswer>('edges', { hostport, source });
    return edges.find(({ edge }) => edge.id === edgeId)?.check?.allowed === true;
  }

  private async ask<Answer>(path: string, query: Record<string, string>): Promise<Answer> {
    const answer = await this.service.ask<Answer>('GET', `${path}?${new URLSearchParams(query)}`);
    if (answer !== undefined) return answer;
    throw new ServiceUnavailable(`the service has no /ssh_gateway/${path}: it is of an earlier version`, 404);
  }
}
