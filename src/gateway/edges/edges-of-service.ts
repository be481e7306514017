import { Unavailable } from '../../kernel/network/unavailable.js';
import type { ServiceClient } from '../service-client.js';
import type { EdgesOfHostports } from './edge-answer.js';
import { NOTHING, type Serving, servingOf } from './served-edge.js';

/** Asks the service about edges. Each method rejects with Unavailable if there is no answer. */
export class EdgesOfService {
  constructor(
    private readonly service: ServiceClient,
    private readonly isIgnoringPolicies: boolean,
  ) {}

  async portsOf(host: string): Promise<readonly number[]> {
    return (await this.ask<{ ports: number[] }>('GET', `edges/ports?${new URLSearchParams({ host })}`)).ports;
  }

  /** A hostport is missing if the answer has no room for it, or if the service is not done with it: ask again about it. */
  async at(hostports: readonly string[]): Promise<ReadonlyMap<string, Serving>> {
    const answer = await this.ask<EdgesOfHostports>('POST', 'edges', { hostports });
    // Hostports with the same edge share what is compiled for it.
    const byId = new Map(answer.edges.map((one) => [one.edge.id, servingOf(one, this.isIgnoringPolicies)]));
    return new Map(answer.hostports.map(({ hostport, edge_id }) => [hostport, byId.get(edge_id ?? '') ?? NOTHING]));
  }

  private async ask<Answer>(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    const answer = await this.service.ask<Answer>(method, path, body);
    if (answer !== undefined) return answer;
    const route = path.replace(/\?.*/, '');
    throw new Unavailable(`the service has no /ssh_gateway/${route}: it is an earlier version`, { status: 404 });
  }
}
