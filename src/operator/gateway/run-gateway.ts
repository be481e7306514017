import { misspelledIn, readGatewayConfig } from '../../api/config/config.js';
import { ServiceLog } from '../../api/service-log/service-log.js';
import { Gateway, type GatewaySettings } from '../../gateway/index.js';
import { STOP_SIGNALS, UsageError } from '../../kernel/operator-error.js';

/** Runs a gateway until a signal stops it. */
export async function runGateway(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const log = new ServiceLog();
  const config = readGatewayConfig(process.env);
  if (config.gatewayToken === '')
    throw new UsageError('GATEWAY_TOKEN is not set: set it to one of the GATEWAY_TOKENS of the service');
  log.setLevel(config.logLevel);
  for (const problem of misspelledIn(process.env)) log.warn(problem, 'Settings');
  const stopped = new Promise<string>((resolve) => {
    for (const signal of STOP_SIGNALS) process.on(signal, resolve);
  });
  const gateway = await startGateway(config, log);
  log.announce({}, `${await stopped}: closing the tunnels`);
  await gateway.stop();
  log.announce({}, 'stopped');
}

/** Starts a gateway, and logs its address. */
export async function startGateway(settings: GatewaySettings, log: ServiceLog): Promise<Gateway> {
  const gateway = new Gateway(settings, log);
  await gateway.start();
  const { host, port } = gateway.address;
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const fields = { address, host_key: gateway.hostKeyFingerprint, service: settings.serviceUrl };
  log.announce(fields, `SSH gateway is ready at ${address}, host key ${gateway.hostKeyFingerprint}`);
  return gateway;
}
