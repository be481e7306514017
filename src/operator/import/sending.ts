import { hash } from 'node:crypto';
import type { CallerResource } from '../../api/caller/caller.resource.js';
import type { SshCredentialResource } from '../../api/ssh-credentials/ssh-credentials.resource.js';
import type { TcpEdgeResource } from '../../api/tcp-edges/tcp-edges.resource.js';
import type { TunnelGroupResource } from '../../api/tunnel-groups/tunnel-groups.resource.js';
import { parseCidrs } from '../../rules/index.js';
import { patiently } from '../http/patiently.js';
import { Refused, type ServiceApi } from '../http/service-api.js';
import { tell } from '../print.js';
import { EDGES, GROUPS, labelText, MADE_BY_US } from '../verbs/edges.commands.js';
import { type CredentialBody, Left } from './left.js';

/** A restart of a service with a long log takes a minute. */
const MAX_AWAY_MS = 300_000;
const CREDENTIALS = 'ssh_credentials';

/** What a line becomes. */
export interface Wanted {
  readonly line: number;
  readonly digest: string;
  readonly credential: CredentialBody;
  readonly fingerprint: string;
  /** Only a proxy of frp has one. */
  readonly edge?: { readonly hostport: string; readonly label: string };
}

/** What an account has of groups and edges, of which it has few. */
interface Found {
  /** The id of a group, by its labels. */
  readonly groups: ReadonlyMap<string, string>;
  /** The edge of a hostport, with the labels of its group. */
  readonly edges: ReadonlyMap<string, { readonly id: string; readonly labels: string | undefined }>;
}

/** Makes what is wanted at a service, unless it is there. Nothing of the account is changed or deleted. */
export class Sending {
  private found: Promise<Found> | undefined;
  private hasTold = false;

  private constructor(
    private readonly api: ServiceApi,
    private readonly isDry: boolean,
    private readonly signal: AbortSignal,
    private readonly callerId: string,
  ) {}

  static async begin(api: ServiceApi, isDry: boolean, signal: AbortSignal): Promise<Sending> {
    return new Sending(api, isDry, signal, (await api.read<CallerResource>('caller')).id);
  }

  /** `new`: it would be made. Throws Left for what the service refuses, and for a key or hostport that has other rights. */
  async take(wanted: Wanted): Promise<'new' | 'made' | 'there'> {
    const { credential, edge } = wanted;
    const hasEdge = edge === undefined || (await this.hasEdge(edge));
    const hasCredential = await this.hasCredential(wanted);
    if (hasEdge && hasCredential) return 'there';
    if (this.isDry) return 'new';
    try {
      if (!hasCredential) await this.make(wanted, CREDENTIALS, credential);
      if (edge !== undefined && !hasEdge) await this.makeEdge(wanted, edge);
      return 'made';
    } catch (error) {
      throw error instanceof Refused ? new Left(error.message) : error;
    }
  }

  /** A second credential of a key would widen what the key may do. */
  private async hasCredential({ credential, fingerprint }: Wanted): Promise<boolean> {
    const path = `${CREDENTIALS}?${new URLSearchParams({ fingerprint })}`;
    const { ssh_credentials: there } = await this.ask<{ ssh_credentials: SshCredentialResource[] }>('GET', path);
    const [first] = there;
    if (first === undefined) return false;
    const rights = rightsOf(credential, this.callerId);
    if (there.some((one) => rightsOf(one, '') === rights)) return true;
    throw new Left(`its key has ${first.id} already, with another owner, or other rules, networks or expiry`);
  }

  private async hasEdge({ hostport, label }: NonNullable<Wanted['edge']>): Promise<boolean> {
    const edge = (await this.there()).edges.get(hostport);
    if (edge === undefined || edge.labels === `frp=${label}`) return edge !== undefined;
    throw new Left(`the edge ${edge.id} serves ${hostport} already, for others`);
  }

  private async makeEdge(wanted: Wanted, { hostport, label }: NonNullable<Wanted['edge']>): Promise<void> {
    const description = `frp ${label}`;
    const group = { description, metadata: MADE_BY_US, labels: { frp: label } };
    const backend_id = (await this.there()).groups.get(`frp=${label}`) ?? (await this.make(wanted, GROUPS, group));
    await this.make(wanted, EDGES, { description, hostports: [hostport], backend: { backend_id } });
  }

  /** The service answers a repeated request of a line as the first, for ever, also if what it made was deleted since. */
  private async make({ digest, line }: Wanted, path: string, body: object): Promise<string> {
    const content = hash('sha256', `${path} ${JSON.stringify(body)}`, 'hex').slice(0, 16);
    const { id } = await this.ask<{ id: string }>('POST', path, body, `import:${digest}:${line}:${content}`);
    await this.ask('GET', `${path}/${id}`).catch((error: unknown) => {
      if (!(error instanceof Refused && error.status === 404)) throw error;
      throw new Left(`an earlier import has made ${id} of it, which was deleted since; make another by hand`);
    });
    return id;
  }

  private there(): Promise<Found> {
    this.found ??= this.find();
    return this.found;
  }

  private async find(): Promise<Found> {
    const groups = await this.api.all<TunnelGroupResource>(GROUPS, 'backends');
    const labelsOf = new Map(groups.map(({ id, labels }) => [id, labelText(labels)]));
    const edges = await this.api.all<TcpEdgeResource>(EDGES, 'tcp_edges');
    return {
      groups: new Map([...labelsOf].map(([id, labels]) => [labels, id])),
      edges: new Map(
        edges.flatMap(({ id, hostports, backend }) =>
          hostports.map((one) => [one, { id, labels: labelsOf.get(backend?.backend.id ?? '') }]),
        ),
      ),
    };
  }

  private async ask<Body>(method: 'GET' | 'POST', path: string, body?: object, idempotencyKey?: string): Promise<Body> {
    const attempt = () => this.api.attempt<Body>(method, path, body, { idempotencyKey });
    const { signal, api } = this;
    // 32 requests wait at once.
    const report = (sentence: string): void => {
      if (!this.hasTold) tell(sentence);
      this.hasTold = true;
    };
    const patience = { name: api.name, lack: 'takes nothing now', report, signal, maxAwayMs: MAX_AWAY_MS };
    return (await patiently(attempt, patience)).body;
  }
}

type Rights = Partial<Pick<CredentialBody, 'acl' | 'owner_id' | 'source_cidrs' | 'expires_at'>>;

function rightsOf({ acl = [], owner_id = '', source_cidrs, expires_at }: Rights, callerId: string): string {
  const networks = source_cidrs === undefined ? null : [...parseCidrs(source_cidrs, 'source_cidrs')].sort();
  const expiresMs = expires_at === undefined ? null : Date.parse(expires_at);
  return JSON.stringify([owner_id === '' ? callerId : owner_id, [...acl].sort(), networks, expiresMs]);
}
