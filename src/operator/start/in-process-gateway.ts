import { randomBytes } from 'node:crypto';
import { type Config, readGatewayConfig } from '../../api/config/config.js';
import type { ServiceLog } from '../../api/service-log/service-log.js';
import type { Gateway } from '../../gateway/index.js';
import { requireFreeAddresses } from '../gateway/free-addresses.js';

const NAME = 'beside-the-service';

/**
 * The gateway of `start --with-gateway`. Like any other gateway it calls the service over HTTP, with a token for this
 * run.
 */
export class InProcessGateway {
  private readonly token = randomBytes(24).toString('hex');
  private readonly settings;
  private gateway: Gateway | undefined;

  constructor(environment: NodeJS.ProcessEnv) {
    this.settings = readGatewayConfig(environment);
  }

  /** The settings of the service, with the token of this gateway. */
  withToken(config: Config): Config {
    return Object.freeze({ ...config, gatewayTokens: [...config.gatewayTokens, { name: NAME, token: this.token }] });
  }

  /** Comes before a database is made, since only a start that succeeds shows the first account's key. */
  requireFreeAddresses(): Promise<void> {
    return requireFreeAddresses(this.settings);
  }

  async start(serviceUrl: string, log: ServiceLog): Promise<void> {
    // Imported late, since a service without a gateway needs no SSH.
    const { startGateway } = await import('../gateway/run-gateway.js');
    this.gateway = await startGateway({ ...this.settings, serviceUrl, gatewayToken: this.token }, log);
  }

  async stop(): Promise<void> {
    await this.gateway?.stop();
  }
}
