import { type Config, misspelledIn, readConfig } from '../../api/config/config.js';
import { ServiceLog } from '../../api/service-log/service-log.js';
import { startupBanner, startupLines } from '../../api/startup-banner.js';
import { OperatorError } from '../../kernel/operator-error.js';
import { Ending } from './ending.js';
import { GatewayBeside } from './gateway-beside.js';
import { closeWithin, type Instance, stopOnSignals } from './stopping.js';

/** A slower start tells what it does. */
const MAX_HELD_MS = 8_000;

/** Starts the service, which then runs until a signal stops it. A failed start ends the process. */
export async function serve(withGateway = false): Promise<void> {
  // A reader of the log that went away, or a closed terminal, must not end the service.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const log = new ServiceLog();
  const ending = new Ending(log);
  ending.watch();
  await start(log, ending, withGateway).catch((error) => ending.fail(error));
}

async function start(log: ServiceLog, ending: Ending, withGateway: boolean): Promise<void> {
  const beside = withGateway ? new GatewayBeside(process.env) : undefined;
  const given = readConfig(process.env);
  const config = beside?.knownTo(given) ?? given;
  log.setLevel(config.logLevel);
  for (const problem of misspelledIn(process.env)) log.warn(problem, 'Settings');
  // A first start says first what to do.
  log.hold();
  setTimeout(() => log.release(), MAX_HELD_MS).unref();
  const service = startService(config, log);
  const starting = beside === undefined ? service : service.then((instance) => stoppedAfter(beside, instance));
  const isStopping = stopOnSignals(starting, config, log, (error) => ending.fail(error));
  const instance = await starting;
  // At once, since the key of a new account is told this once: the gateway may not start, and a signal may stop all of it.
  if (log.isOnTerminal) console.log(startupBanner(instance, config, beside?.firstTunnel));
  else for (const [fields, text] of startupLines(instance, config, beside?.firstTunnel)) log.announce(fields, text);
  log.release();
  await beside?.start(instance.url, log);
  void instance.database.embedded?.exited.then((code) => {
    if (isStopping()) return;
    ending.fail(
      new OperatorError(`the embedded PostgreSQL ended by itself (exit code ${code}); start again to recover`),
    );
  });
}

/** The gateway ends first, since its tunnels need the service. */
const stoppedAfter = (beside: GatewayBeside, instance: Instance): Instance => ({
  ...instance,
  close: async () => {
    await beside.stop();
    return instance.close();
  },
});

async function startService(config: Config, log: ServiceLog): Promise<Instance> {
  const { createApp } = await import('../../api/app.js');
  const app = await createApp(config, log);
  return { ...app, close: () => closeWithin(config.shutdownGraceMs, app, log) };
}
