import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from './api-client.js';
import { freePort } from './free-port.js';
import { stopAtEnd } from './leftovers.js';
import { PostgresServer } from './postgres-server.js';
import { CLI, type RunningMain, startMain } from './process.js';
import { ADMIN_KEY, GATEWAY_TOKEN } from './service.js';

const HOST = '127.0.0.1';

/** A database, a service and a gateway, each a process that tests kill and start again, at the same address. */
export class Killable {
  service!: RunningMain;
  gateway!: ChildProcess;
  admin!: ApiClient;

  private constructor(
    readonly database: PostgresServer,
    private readonly port: number,
    readonly sshPort: number,
    private readonly hostKey: string,
    private readonly gatewaySettings: Readonly<Record<string, string>>,
  ) {}

  static async start(gatewaySettings: Readonly<Record<string, string>>): Promise<Killable> {
    const database = await PostgresServer.primary();
    await database.query('create database service');
    const folder = await mkdtemp(join(tmpdir(), 'tas-gateway-'));
    stopAtEnd(() => rm(folder, { recursive: true, force: true }));
    const ports = [await freePort(HOST), await freePort(HOST)] as const;
    const all = new Killable(database, ...ports, join(folder, 'host_key'), gatewaySettings);
    await all.startService();
    all.admin = new ApiClient(await all.service.url, ADMIN_KEY);
    await all.startGateway();
    return all;
  }

  async startService(): Promise<void> {
    this.service = startMain({
      DATABASE_URL: `postgres://postgres@${this.database.host}/service`,
      BOOTSTRAP_API_KEY: ADMIN_KEY,
      GATEWAY_TOKENS: GATEWAY_TOKEN,
      LOG_LEVEL: 'error',
      PORT: String(this.port),
    });
    await this.service.url;
  }

  async startGateway(): Promise<void> {
    const env = {
      PATH: process.env.PATH,
      SERVICE_URL: await this.service.url,
      GATEWAY_TOKEN,
      GATEWAY_LISTEN: `${HOST}:${this.sshPort}`,
      GATEWAY_HOST_KEY: this.hostKey,
      GATEWAY_KEEPALIVE_MS: '500',
      ...this.gatewaySettings,
    };
    const child = spawn(process.execPath, [CLI, 'gateway'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    stopAtEnd(async () => void child.kill('SIGKILL'));
    this.gateway = child;
    for await (const text of child.stdout) if (String(text).includes('is ready at')) break;
  }

  async killService(): Promise<void> {
    this.service.child.kill('SIGKILL');
    await this.service.ended;
  }
}
