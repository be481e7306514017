import cluster from 'node:cluster';
import { type Config, readConfig } from '../../config.js';
import { OperatorError } from '../../operator-error.js';
import { ServiceLog } from '../../service-log/service-log.js';
import { startupBanner, startupLines } from '../../startup-banner.js';
import { Ending } from './ending.js';
import { GatewayBeside } from './gateway-beside.js';
import { closeWithin, type Instance, stopOnSignals } from './stopping.js';

/** Starts the service, which then runs until a signal stops it. A failed start ends the process. */
export async function serve(withGateway = false): Promise<void> {
  // A reader of the log that went away, or a closed terminal, must not end the service.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  if (cluster.isWorker) return (await import('./worker.js')).runWorker();
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
  const service = config.workers === 1 ? startAlone(config, log) : startWorkers(config, log);
  const starting = beside === undefined ? service : service.then((instance) => stoppedAfter(beside, instance));
  const isStopping = stopOnSignals(starting, config, log, (error) => ending.fail(error));
  const instance = await starting;
  if (log.isOnTerminal) console.log(startupBanner(instance, config));
  else for (const [fields, text] of startupLines(instance, config)) log.announce(fields, text);
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

async function startAlone(config: Config, log: ServiceLog): Promise<Instance> {
  const { createApp } = await import('../../app.js');
  const app = await createApp(config, log);
  return { ...app, close: () => closeWithin(config.shutdownGraceMs, app, log) };
}

/** The primary serves no requests, so it does not load what serves them. */
const startWorkers = async (config: Config, log: ServiceLog): Promise<Instance> =>
  (await import('./primary.js')).startPrimary(config, log);
