import { hash } from 'node:crypto';
import type { CallerResource } from '../../api/caller/caller.resource.js';
import type { SshCredentialResource } from '../../api/ssh-credentials/ssh-credentials.resource.js';
import type { TcpEdgeResource } from '../../api/tcp-edges/tcp-edges.resource.js';
import type { TunnelGroupResource } from '../../api/tunnel-groups/tunnel-groups.resource.js';
import type { HttpMethod } from '../../kernel/network/http-client.js';
import { retry } from '../../kernel/network/retry.js';
import { isTransientStatus, UNTIL_AVAILABLE, Unavailable } from '../../kernel/network/unavailable.js';
import { OperatorError } from '../../kernel/operator-error.js';
import { parseCidrs } from '../../rules/index.js';
import { PAUSES_MS } from '../http/patiently.js';
import { Refused, type ServiceApi, type Taken } from '../http/service-api.js';
import { tell } from '../print.js';
import { EDGES, GROUPS, labelText, MADE_BY_US } from '../verbs/edges.commands.js';
import { type CredentialBody, Left } from './left.js';

/** A restart of a service with a long log takes a minute. */
const MAX_AWAY_MS = 300_000;
/** A later answer may be that of an earlier request. */
const EARLIER_MS = 2_000;
const CREDENTIALS = 'ssh_credentials';

/** What a line becomes. */
export interface Wanted {
  readonly file: string;
  readonly line: number;
  readonly digest: string;
  readonly credential: CredentialBody;
  readonly fingerprint: string;
  /** Only a proxy of frp has one. */
  readonly edge?: { readonly hostport: string; readonly label: string };
}

/** `new`: it would be made. */
type Outcome = 'new' | 'made' | 'there';

/** Makes what is wanted at a service, unless it is there. Nothing of the account is changed or deleted. */
export class Sending {
  private wasAway = false;

  private constructor(
    private readonly api: ServiceApi,
    private readonly isDry: boolean,
    private readonly callerId: string,
    private readonly groups: ReadonlyMap<string, TunnelGroupResource>,
    private readonly edges: ReadonlyMap<string, TcpEdgeResource>,
  ) {}

  /** `withEdges`: reads what there is of groups and edges, of which an account has few. */
  static async begin(api: ServiceApi, isDry: boolean, withEdges: boolean): Promise<Sending> {
    const { id } = await api.read<CallerResource>('caller');
    const groups = withEdges ? await api.all<TunnelGroupResource>(GROUPS, 'backends') : [];
    const edges = withEdges ? await api.all<TcpEdgeResource>(EDGES, 'tcp_edges') : [];
    return new Sending(
      api,
      isDry,
      id,
      new Map(groups.map((one) => [labelText(one.labels), one])),
      new Map(edges.flatMap((one) => one.hostports.map((hostport) => [hostport, one]))),
    );
  }

  /** Throws Left for what the service refuses, and where the key or the hostport is somebody's already. */
  async take(wanted: Wanted): Promise<Outcome> {
    const edge = wanted.edge && this.edgeThere(wanted.edge);
    const isThere = await this.isThere(wanted);
    if (isThere && (wanted.edge === undefined || edge !== undefined)) return 'there';
    if (this.isDry) return 'new';
    try {
      if (!isThere) await this.makeCredential(wanted);
      if (wanted.edge !== undefined && edge === undefined) await this.makeEdge(wanted, wanted.edge);
      return 'made';
    } catch (error) {
      throw error instanceof Refused ? new Left(error.message) : error;
    }
  }

  /** A second credential of a key would widen what the key may do. */
  private async isThere({ credential, fingerprint }: Wanted): Promise<boolean> {
    const query = new URLSearchParams({ fingerprint });
    const { body: found } = await this.ask<{ readonly ssh_credentials: readonly SshCredentialResource[] }>(
      'GET',
      `${CREDENTIALS}?${query}`,
    );
    const [first] = found.ssh_credentials;
    if (first === undefined) return false;
    const rights = rightsOf(credential, this.callerId);
    if (found.ssh_credentials.some((one) => rightsOf(one, '') === rights)) return true;
    throw new Left(`its key has ${first.id} already, with another owner, or other rules, networks or expiry`);
  }

  /** What an earlier run has made, and was deleted since, the service never makes again. */
  private async makeCredential(wanted: Wanted): Promise<void> {
    const { body, date = '' } = await this.post(wanted, CREDENTIALS, wanted.credential);
    if (Date.parse(date) - Date.parse(body.created_at) <= EARLIER_MS || (await this.isThere(wanted))) return;
    throw new Left(`an earlier import has made ${body.id} of it, which was deleted since; keys add makes another`);
  }

  private edgeThere({ hostport, label }: NonNullable<Wanted['edge']>): TcpEdgeResource | undefined {
    const edge = this.edges.get(hostport);
    if (edge === undefined || edge.backend?.backend.id === this.groups.get(`frp=${label}`)?.id) return edge;
    throw new Left(`the edge ${edge.id} serves ${hostport} already, for others`);
  }

  private async makeEdge(wanted: Wanted, { hostport, label }: NonNullable<Wanted['edge']>): Promise<void> {
    const description = `frp ${label}`;
    const group = { description, metadata: MADE_BY_US, labels: { frp: label } };
    const { id } = this.groups.get(`frp=${label}`) ?? (await this.post(wanted, GROUPS, group)).body;
    await this.post(wanted, EDGES, { description, hostports: [hostport], backend: { backend_id: id } });
  }

  /** The service answers a repeated request of one line as the first, for ever. Other options make another body. */
  private post(wanted: Wanted, path: string, body: object): Promise<Made> {
    const content = hash('sha256', `${path} ${JSON.stringify(body)}`, 'hex').slice(0, 16);
    return this.ask('POST', path, body, `import:${wanted.digest}:${wanted.line}:${content}`);
  }

  private async ask<Body>(
    method: HttpMethod,
    path: string,
    body?: object,
    idempotencyKey?: string,
  ): Promise<Taken<Body>> {
    const failed = (error: unknown, pauseMs: number | undefined): void => {
      const what = `${this.api.name} takes nothing now: ${error instanceof Error ? error.message : error}`;
      if (pauseMs === undefined) throw new OperatorError(`${what}. Run the import again: it makes nothing twice`);
      if (!this.wasAway) tell(`${what}; trying again until it does`);
      this.wasAway = true;
    };
    const options = idempotencyKey === undefined ? {} : { idempotencyKey };
    return retry(() => this.api.attempt<Body>(method, path, body, options), {
      ...UNTIL_AVAILABLE,
      isTransient: (error) =>
        error instanceof Unavailable && (error.answer === undefined || isTransientStatus(error.answer.status)),
      pausesMs: PAUSES_MS,
      deadline: performance.now() + MAX_AWAY_MS,
      failed,
    }).catch((error: unknown) => {
      throw error instanceof Unavailable ? new OperatorError(`${this.api.name}: ${error.message}`) : error;
    });
  }
}

type Made = Taken<{ readonly id: string; readonly created_at: string }>;

type Rights = Partial<Pick<CredentialBody, 'acl' | 'owner_id' | 'source_cidrs' | 'expires_at'>>;

function rightsOf({ acl = [], owner_id = '', source_cidrs, expires_at }: Rights, callerId: string): string {
  const networks = source_cidrs === undefined ? null : [...parseCidrs(source_cidrs, 'source_cidrs')].sort();
  const expiresMs = expires_at === undefined ? null : Date.parse(expires_at);
  return JSON.stringify([owner_id === '' ? callerId : owner_id, [...acl].sort(), networks, expiresMs]);
}
