import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { readGatewayConfig } from '../../src/api/config/config.js';
import { Gateway } from '../../src/gateway/gateway.js';
import type { GatewaySettings } from '../../src/gateway/settings-table.js';
import { type EchoTarget, startEchoTarget } from './echo-target.js';
import { freePort } from './free-port.js';
import { stopAtEnd } from './leftovers.js';
import { GATEWAY, GATEWAY_TOKEN, type Service, startService } from './service.js';
import { type KeyPair, type Login, logIn, newKeyPair } from './ssh-client.js';

/** The lines of the log of a gateway. */
export type LogLine = object & { readonly message: string };

/** The service, a gateway of its own, and a target for its tunnels. */
export class OwnGateway {
  private constructor(
    readonly service: Service,
    readonly gateway: Gateway,
    readonly metricsUrl: string,
    readonly target: EchoTarget,
    readonly log: readonly LogLine[],
  ) {}

  static async start(settings: Partial<GatewaySettings> = {}, now?: () => number): Promise<OwnGateway> {
    const service = await startService(GATEWAY);
    return OwnGateway.startFor(service, service.app.url, settings, now);
  }

  static async startFor(
    service: Service,
    serviceUrl: string,
    settings: Partial<GatewaySettings>,
    now?: () => number,
  ): Promise<OwnGateway> {
    const folder = await mkdtemp(join(tmpdir(), 'tas-gateway-'));
    stopAtEnd(() => rm(folder, { recursive: true, force: true }));
    const gatewayMetricsAddress = { host: '127.0.0.1', port: await freePort('127.0.0.1') };
    const given = readGatewayConfig({
      SERVICE_URL: serviceUrl,
      GATEWAY_TOKEN,
      GATEWAY_LISTEN: '127.0.0.1:0',
      // Tests bind and serve free ports of these: see free-port.ts.
      GATEWAY_BIND_PORTS: '1024-65535',
      GATEWAY_EDGE_PORTS: '20000-29999',
      GATEWAY_HOST_KEY: join(folder, 'host_key'),
      GATEWAY_HOSTS:
        '127.0.0.1,127.0.1.2,localhost=127.0.0.1,app.example.test=127.0.1.2,a.b.wild.example.test=127.0.1.3,[::1]',
    });
    const log: LogLine[] = [];
    const keep = { line: (_: string, fields: object, message: string) => void log.push({ ...fields, message }) };
    const gateway = new Gateway({ ...given, gatewayMetricsAddress, ...settings }, keep, now);
    await gateway.start();
    stopAtEnd(() => gateway.stop());
    const metricsUrl = `http://127.0.0.1:${gatewayMetricsAddress.port}`;
    return new OwnGateway(service, gateway, metricsUrl, await startEchoTarget(), log);
  }

  get port(): number {
    return this.gateway.address.port;
  }

  /** A new key pair with one credential. */
  async newCredential(...acl: string[]): Promise<KeyPair & { readonly id: string }> {
    const key = await newKeyPair();
    return { ...key, id: await this.createCredential(key, acl) };
  }

  async createCredential({ publicKey }: KeyPair, acl: readonly string[]): Promise<string> {
    const { status, body } = await this.service.admin.post('/ssh_credentials', { public_key: publicKey, acl });
    expect({ status, body }).toMatchObject({ status: 201 });
    return body.id;
  }

  /** `ssh -N -R` for each `host:port`, with the target at the other end. */
  bind(key: KeyPair, ...binds: string[]): Promise<Login> {
    return logIn(this.port, key, ...binds.flatMap((bind) => ['-R', `${bind}:127.0.0.1:${this.target.port}`]));
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.metricsUrl}/metrics`)).text();
  }
}
