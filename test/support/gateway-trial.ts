import { randomBytes } from 'node:crypto';
import { expect } from '@jest/globals';
import pg from 'pg';
import { type Answer, ApiClient } from './api-client.js';
import { complementOf, type EchoTarget, exchange, startEchoTarget } from './echo-target.js';
import { freePort } from './free-port.js';
import { stopAtEnd } from './leftovers.js';
import { addAccount } from './principals.js';
import { type RunningMain, startMain, stopMain } from './process.js';
import { ADMIN_KEY, cloneDatabase } from './service.js';
import { type KeyPair, type Login, logIn, newKeyPair } from './ssh-client.js';
import { type SshdGateway, startSshdGateway } from './sshd-gateway.js';

export const GATEWAY_TOKEN = 'a-token-for-the-test-gateway';

/** Each name has its own loopback address, so a test sees which name is bound. The last name cannot exist in DNS. */
const ADDRESSES: Readonly<Record<string, string>> = {
  'app.example.test': '127.0.1.2',
  'a.wild.example.test': '127.0.1.3',
  'a.b.wild.example.test': '127.0.1.4',
  'wild.example.test': '127.0.1.5',
  'evilwild.example.test': '127.0.1.6',
  'other.test': '127.0.1.7',
  '*.wild.example.test': '127.0.1.8',
};
const addressOf = (host: string): string => ADDRESSES[host.toLowerCase()] ?? host;

/** A free port at the address of this host's tunnels. */
export const freePortOf = (host: string): Promise<number> => freePort(addressOf(host));

/** Messages of sshd in `ssh -v`. Neither appears if a bind fails for another reason, such as a port in use. */
export const NOT_ON_THE_LIST = 'Remote: port forwarding refused';
export const NO_FORWARDING = 'Remote: Server has disabled port forwarding.';

/** The built service, stock sshd as docs/sshd-gateway.md sets it up, and the system's ssh. */
export class GatewayTrial {
  private constructor(
    private service: RunningMain,
    private readonly settings: Record<string, string>,
    readonly admin: ApiClient,
    readonly gateway: SshdGateway,
    readonly target: EchoTarget,
  ) {}

  static async start({ hasJournal = false } = {}): Promise<GatewayTrial> {
    const database = await cloneDatabase();
    stopAtEnd(database.drop);
    const settings = {
      PORT: String(await freePort('127.0.0.1')),
      DATABASE_URL: database.url,
      BOOTSTRAP_API_KEY: ADMIN_KEY,
      GATEWAY_TOKENS: `the-token-of-another-gateway,${GATEWAY_TOKEN}`,
    };
    const service = startMain(settings);
    const url = await service.url;
    const hosts = Object.entries(ADDRESSES).map(([name, address]) => `${address} ${name}`);
    const gateway = await startSshdGateway({ service: url, token: GATEWAY_TOKEN, hosts, hasJournal });
    return new GatewayTrial(service, settings, new ApiClient(url, ADMIN_KEY), gateway, await startEchoTarget());
  }

  async stopService(): Promise<void> {
    await stopMain(this.service);
  }

  /** Restarts the service at the same URL on the same data. */
  async startServiceAgain(): Promise<void> {
    this.service = startMain(this.settings);
    await this.service.url;
  }

  /** Makes a change through another instance on the same data, at a URL that no gateway knows. */
  async changeWhileAway(act: (admin: ApiClient) => Promise<Answer>): Promise<void> {
    const elsewhere = startMain({ ...this.settings, PORT: '0' });
    expect((await act(new ApiClient(await elsewhere.url, ADMIN_KEY))).status).toBeLessThan(300);
    await stopMain(elsewhere);
  }

  /** The admin of another account. */
  async addAccount(): Promise<ApiClient> {
    const pool = new pg.Pool({ connectionString: this.settings.DATABASE_URL });
    const { client } = await addAccount({ pool, app: { url: await this.service.url } });
    await pool.end();
    return client;
  }

  /** Returns the id of the credential. */
  async createCredential({ publicKey }: KeyPair, acl: readonly string[], more: object = {}): Promise<string> {
    const { status, body } = await this.admin.post('/ssh_credentials', { public_key: publicKey, acl, ...more });
    expect({ status, body }).toMatchObject({ status: 201 });
    return body.id;
  }

  /** A new key pair with one credential. */
  async newCredential(...acl: string[]): Promise<KeyPair & { readonly id: string }> {
    const key = await newKeyPair();
    return { ...key, id: await this.createCredential(key, acl) };
  }

  /** `ssh -N -R` for each `host:port`, with the target at the other end. */
  bind(key: KeyPair, ...binds: string[]): Promise<Login> {
    const forwardings = binds.flatMap((bind) => ['-R', `${bind}:127.0.0.1:${this.target.port}`]);
    return logIn(this.gateway.port, key, ...forwardings);
  }

  /** Opens the bind, sends bytes through it, and closes it. */
  async expectTunnel(key: KeyPair, host: string): Promise<void> {
    const port = await freePortOf(host);
    const login = await this.bind(key, `${host}:${port}`);
    expect(login.isOpen ? 'open' : login.output()).toBe('open');
    await expectBytesBothWays(host, port);
    await login.close();
  }

  /** Expects that the key may log in, but may not bind. */
  async expectDenied(key: KeyPair, bind: string, reason = NOT_ON_THE_LIST): Promise<void> {
    const login = await this.bind(key, bind);
    expect(login.isOpen).toBe(false);
    expect(login.output()).toContain(reason);
    expect(login.output()).toContain('remote port forwarding failed for listen port');
  }

  async expectNotLetIn(key: KeyPair): Promise<void> {
    const login = await this.bind(key, 'app.example.test:7001');
    expect(login.isOpen).toBe(false);
    expect(login.output()).toContain('Permission denied (publickey)');
  }
}

export async function expectBytesBothWays(host: string, port: number): Promise<void> {
  const bytes = randomBytes(200_000);
  expect((await exchange(addressOf(host), port, bytes)).equals(complementOf(bytes))).toBe(true);
}
