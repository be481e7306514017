import { IdSource } from '../../src/kernel/ids.js';
import type { Answer, ApiClient } from './api-client.js';
import { type TestCredential, upload } from './decisions.js';
import { newPublicKey } from './keys.js';
import type { TestPrincipal } from './principals.js';
import type { Service } from './service.js';

const ids = new IdSource();

interface OpenedBy {
  readonly accountId: string;
  readonly id: string;
}

export type OwnCredential = TestCredential & OpenedBy;

export const credentialOf = async (service: Service, { client, accountId }: TestPrincipal): Promise<OwnCredential> => ({
  ...(await upload(service, client, { public_key: newPublicKey() })),
  accountId,
});

/** A session of a credential, as a gateway reports it. */
export const newSession = ({ accountId, id }: OpenedBy, more: object = {}) => ({
  id: ids.next('ts'),
  account_id: accountId,
  credential_id: id,
  source: '203.0.113.9',
  client: 'SSH-2.0-OpenSSH_9.2',
  ago_ms: 0,
  ...more,
});
export type ReportedSession = ReturnType<typeof newSession>;

export const newTunnel = (session: ReportedSession, more: object = {}) => ({
  id: ids.next('tn'),
  account_id: session.account_id,
  session_id: session.id,
  credential_id: session.credential_id,
  targets: [{ address: '1.tcp.example.com:20000' }],
  ago_ms: 0,
  ...more,
});

/** The end of a session or a tunnel. */
export const endOf = ({ id, account_id }: { readonly id: string; readonly account_id: string }, more: object = {}) => ({
  ...{ id, account_id, ago_ms: 0, reason: 'client', bytes_in: 10, bytes_out: 20, connections: 1 },
  ...more,
});

/** A gateway that reports to a service. */
export class ReportingGateway {
  readonly id = ids.next('gw');
  private report = 0;

  constructor(private readonly client: ApiClient) {}

  /** Sends the next report. */
  send(body: object = {}): Promise<Answer> {
    this.report += 1;
    return this.sendAs(this.report, body);
  }

  sendAs(report: number, body: object = {}): Promise<Answer> {
    return this.client.post('/ssh_gateway/sessions', { gateway_id: this.id, report, ...body });
  }

  /** Sends all that is open in one report. */
  whole(body: object = {}): Promise<Answer> {
    return this.send({ ...body, whole_since: this.report + 1 });
  }
}

/** From now on the service has been there to hear gateways for so long. */
export const pretendWatching = ({ pool }: Service, seconds: number) =>
  pool.query(
    `insert into gateway_watch (looked_at, watching_since) select clock_timestamp(), clock_timestamp() - $1 * interval '1 second'
      on conflict (is_only) do update set watching_since = excluded.watching_since`,
    [seconds],
  );
