import { Unavailable } from '../../kernel/network/unavailable.js';
import type { ServiceClient } from '../service-client.js';
import type { EdgeAnswer, EdgeCheck, ListedEdge } from './edge-answer.js';

interface EdgesOfHostports {
  readonly edges: readonly ListedEdge[];
  readonly hostports: readonly {
    readonly hostport: string;
    readonly edge_ids: readonly string[];
    readonly before_left_out: number;
  }[];
}

/** The client of an edge, as the service is asked about it. */
export type AskedClient = Readonly<{ source: string; destination?: string; started_at?: string }>;

/** Asks the service about edges. Each method rejects with Unavailable if there is no answer. */
export class EdgesOfService {
  constructor(private readonly service: ServiceClient) {}

  async portsOf(host: string): Promise<readonly number[]> {
    return (await this.ask<{ ports: number[] }>('GET', `edges/ports?${new URLSearchParams({ host })}`)).ports;
  }

  /** A hostport is missing if the answer has no room for it, or if the service is not done with it: ask again about it. */
  async at(hostports: readonly string[]): Promise<ReadonlyMap<string, EdgeAnswer>> {
    const answer = await this.ask<EdgesOfHostports>('POST', 'edges', { hostports });
    const byId = new Map(answer.edges.map((one) => [one.edge.id, one]));
    return new Map(
      answer.hostports.map(({ hostport, edge_ids, before_left_out }) => {
        return [hostport, { edges: edge_ids.flatMap((id) => byId.get(id) ?? []), before_left_out }];
      }),
    );
  }

  /**
   * Whether an edge lets a client in. For an edge that has too many rules for an answer. Undefined: the edge is no longer
   * there.
   */
  async check(hostport: string, edgeId: string, client: AskedClient): Promise<EdgeCheck | undefined> {
    const { edges } = await this.ask<EdgeAnswer>('GET', `edges?${new URLSearchParams({ hostport, ...client })}`);
    return edges.find(({ edge }) => edge.id === edgeId)?.check ?? undefined;
  }

  private async ask<Answer>(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    const answer = await this.service.ask<Answer>(method, path, body);
    if (answer !== undefined) return answer;
    const route = path.replace(/\?.*/, '');
    throw new Unavailable(`the service has no /ssh_gateway/${route}: it is an earlier version`, { status: 404 });
  }
}
