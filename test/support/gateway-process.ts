import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { complementOf, type EchoTarget, exchange, startEchoTarget } from './echo-target.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { stopAtEnd } from './leftovers.js';
import { CLI } from './process.js';
import { GATEWAY, GATEWAY_TOKEN, type Service, startService } from './service.js';
import { type KeyPair, newKeyPair } from './ssh-client.js';
import { TunnelClient } from './tunnel-client.js';

const REPORT_HEAP = new URL('report-heap.mjs', import.meta.url).pathname;
const BYTES = Buffer.from('bytes of a neighbour');

/** A line of the log: its fields are in docs/logs.md. */
export type GatewayLine = Readonly<Record<string, string | number | undefined>> & { readonly msg: string };

/** A gateway in its own process, as operators run it, with a service. */
export class GatewayProcess {
  private constructor(
    readonly service: Service,
    readonly child: ChildProcess,
    readonly port: number,
    readonly metricsUrl: string,
    readonly target: EchoTarget,
    readonly output: () => string,
  ) {}

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<GatewayProcess> {
    const service = await startService(GATEWAY);
    return GatewayProcess.beside(service, service.app.url, settings);
  }

  static async beside(
    service: Service,
    serviceUrl: string,
    settings: Readonly<Record<string, string>>,
    maxFiles?: number,
  ): Promise<GatewayProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'tas-gateway-'));
    stopAtEnd(() => rm(folder, { recursive: true, force: true }));
    const [port, metrics] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')];
    const env = {
      PATH: process.env.PATH,
      SERVICE_URL: serviceUrl,
      GATEWAY_TOKEN,
      GATEWAY_LISTEN: `127.0.0.1:${port}`,
      // Tests bind and serve free ports of these: see free-port.ts.
      GATEWAY_BIND_PORTS: '1024-65535',
      GATEWAY_EDGE_PORTS: '20000-29999',
      GATEWAY_HOST_KEY: join(folder, 'host_key'),
      GATEWAY_METRICS_LISTEN: `127.0.0.1:${metrics}`,
      NODE_OPTIONS: `--import=${REPORT_HEAP}`,
      ...settings,
    };
    const limit = maxFiles === undefined ? '' : `ulimit -n ${maxFiles}; `;
    const command = `${limit}exec '${process.execPath}' '${CLI}' gateway`;
    const child = spawn('/bin/sh', ['-c', command], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    stopAtEnd(async () => void child.kill('SIGKILL'));
    let output = '';
    const ready = new Promise<void>((resolve, reject) => {
      const read = (data: Buffer): void => {
        output += data;
        if (output.includes('is ready at')) resolve();
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.once('close', () => reject(new Error(`the gateway ended:\n${output}`)));
    });
    await ready;
    return new GatewayProcess(
      service,
      child,
      port,
      `http://127.0.0.1:${metrics}`,
      await startEchoTarget(),
      () => output,
    );
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  get residentMb(): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  }

  /** The memory in use after a garbage collection. The resident memory would include what V8 keeps for later. */
  async memoryInUseMb(): Promise<number> {
    const answers = (): readonly string[] => this.output().match(/in use: \d+/g) ?? [];
    const before = answers().length;
    this.child.kill('SIGUSR2');
    await eventually(() => expect(answers().length).toBeGreaterThan(before), 10_000);
    return Number(answers().at(-1)?.slice('in use: '.length)) / 1024 / 1024;
  }

  /** Open file descriptors of the process. */
  get openFiles(): number {
    return readdirSync(`/proc/${this.child.pid}/fd`).length;
  }

  async newCredential(...acl: string[]): Promise<KeyPair & { readonly id: string }> {
    const key = await newKeyPair();
    const answer = await this.service.admin.post('/ssh_credentials', { public_key: key.publicKey, acl });
    expect(answer).toMatchObject({ status: 201 });
    return { ...key, id: answer.body.id };
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.metricsUrl}/metrics`)).text();
  }

  /** The value of a metric of the gateway, with its labels if it has some. */
  async metric(name: string): Promise<number> {
    const line = (await this.metrics()).split('\n').find((one) => one.startsWith(`tunnel_gateway_${name} `));
    return Number(line?.split(' ').at(-1) ?? 0);
  }

  /** The whole lines of its log, as they were written. */
  get written(): readonly string[] {
    return this.output()
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('{'));
  }

  get lines(): readonly GatewayLine[] {
    return this.written.map((line) => JSON.parse(line));
  }

  /** The log lines about faults of the gateway itself. */
  get faults(): readonly string[] {
    return this.output()
      .split('\n')
      .filter((line) => line.includes('"level":"error"') || line.includes('"level":"fatal"'));
  }

  /** Checks that another client can log in and bind, and that its tunnel carries bytes. */
  async expectNeighbourServed(key: KeyPair): Promise<void> {
    expect([this.isAlive, ...this.faults]).toEqual([true]);
    await this.expectServed(key);
  }

  async expectServed(key: KeyPair): Promise<void> {
    const client = await TunnelClient.logIn(this.port, key.file, this.target.port).catch(async (error) => {
      throw new Error(`a login failed (${error}):\n${await this.metrics()}`);
    });
    const port = await client.bind('127.0.0.1', 0);
    expect(await exchange('127.0.0.1', port, BYTES)).toEqual(complementOf(BYTES));
    client.end();
  }
}
