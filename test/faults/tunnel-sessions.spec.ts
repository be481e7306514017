import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Killable } from '../support/killable.js';
import { type KeyPair, type Login, logIn, newKeyPair } from '../support/ssh-client.js';

/** CI kills each program once under a few clients. FAULTS_ROUNDS=20 SESSION_CLIENTS=200 makes a campaign of it. */
const ROUNDS = Number(process.env.FAULTS_ROUNDS ?? 1);
const CLIENTS = Number(process.env.SESSION_CLIENTS ?? 12);
jest.setTimeout(60_000 + ROUNDS * 3 * 90_000);

/** Within this time after a kill the list is exact, when the clients no longer change. */
const EXACT_WITHIN_MS = 20_000;
/** What a gateway has not reported for longer is not lost with it. */
const REPORTED_WITHIN_MS = 1_000;

let all: Killable;
const gatewayKills: number[] = [];

/** A client with a credential of its own, which comes and goes. */
class Flapping {
  login: Login | undefined;
  /** When ssh saw its logins. */
  readonly logins: number[] = [];
  private isStopped = false;
  private running = Promise.resolve();

  constructor(
    readonly credentialId: string,
    private readonly key: KeyPair,
  ) {}

  start(): void {
    this.isStopped = false;
    this.running = this.flap();
  }

  /** The client stays as it is: logged in, or away. */
  async settle(): Promise<void> {
    this.isStopped = true;
    await this.running;
  }

  private async flap(): Promise<void> {
    while (!this.isStopped) {
      if (this.login === undefined) await this.open();
      else await this.close();
      await sleep(100 + Math.random() * 2_000);
    }
  }

  private async open(): Promise<void> {
    const login = await logIn(all.sshPort, this.key, '-o', 'ServerAliveInterval=2', '-R', 'team=blue:0:127.0.0.1:9');
    if (!login.isOpen) return;
    this.login = login;
    this.logins.push(Date.now());
    void login.ended.then(() => {
      if (this.login === login) this.login = undefined;
    });
  }

  private async close(): Promise<void> {
    const { login } = this;
    this.login = undefined;
    await login?.close();
  }
}
let clients: readonly Flapping[];

beforeAll(async () => {
  all = await Killable.start({ GATEWAY_MAX_CONNECTIONS_PER_SECOND: '0' });
  clients = await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const key = await newKeyPair();
      const { body } = await all.admin.post('/ssh_credentials', { public_key: key.publicKey, acl: ['bind:team=blue'] });
      return new Flapping(body.id, key);
    }),
  );
}, 120_000);

async function listed(): Promise<readonly string[]> {
  const found: string[] = [];
  for (let path = '/tunnel_sessions'; path !== ''; ) {
    const { status, body } = await all.admin.get(path);
    if (status !== 200) throw new Error(`the list is answered with ${status}`);
    for (const { credential } of body.tunnel_sessions) found.push(credential.id);
    path = body.next_page_uri === null ? '' : body.next_page_uri.slice(all.admin.url.length);
  }
  return found.sort();
}

const KILLS: Readonly<Record<string, () => Promise<void>>> = {
  async gateway() {
    gatewayKills.push(Date.now());
    all.gateway.kill('SIGKILL');
    await sleep(500);
    await all.startGateway();
  },
  async service() {
    await all.killService();
    await all.startService();
  },
  async database() {
    await all.database.kill('SIGKILL');
    await all.database.start();
  },
};

/** How many logins of a client the service must know: those that a killed gateway had time to report. */
const knownAtLeast = ({ logins }: Flapping): number =>
  logins.filter((at) => !gatewayKills.some((kill) => at <= kill + 200 && at > kill - REPORTED_WITHIN_MS)).length;

describe(`the list of sessions under ${CLIENTS} clients that come and go`, () => {
  it.each(Object.keys(KILLS))(
    'is exact within 20 s after kill -9 of the %s, and no record is lost or doubled',
    async (program) => {
      for (let round = 1; round <= ROUNDS; round += 1) {
        for (const client of clients) client.start();
        await sleep(3_000);
        await KILLS[program]?.();
        await sleep(2_000);
        await Promise.all(clients.map((client) => client.settle()));
        const deadline = Date.now() + EXACT_WITHIN_MS;
        for (;;) {
          const open = clients
            .filter(({ login }) => login !== undefined)
            .map(({ credentialId }) => credentialId)
            .sort();
          const found = await listed().catch(() => undefined);
          if (JSON.stringify(found) === JSON.stringify(open)) break;
          if (Date.now() > deadline) expect({ round, found }).toEqual({ round, found: open });
          await sleep(200);
        }
        await expectRecords();
      }
    },
  );
});

async function expectRecords(): Promise<void> {
  const text = `with known as (
      select credential_id, session_id from tunnel_session_records union all select credential_id, id from tunnel_sessions)
    select credential_id, count(*)::int as known, (count(*) - count(distinct session_id))::int as doubled
    from known group by 1`;
  const rows = await all.database.query(text, 'service');
  const of = new Map(rows.map((row) => [row.credential_id, row]));
  for (const client of clients) {
    const { known = 0, doubled = 0 } = of.get(client.credentialId) ?? {};
    expect({ client: client.credentialId, doubled }).toMatchObject({ doubled: 0 });
    if (known < knownAtLeast(client)) throw new Error(`${known} of ${client.logins.length} logins are known`);
  }
}
