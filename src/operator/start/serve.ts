import { type Config, misspelledIn, readConfig } from '../../api/config/config.js';
import { ServiceLog } from '../../api/service-log/service-log.js';
import { startupBanner, startupLines } from '../../api/startup-banner.js';
import { OperatorError } from '../../kernel/operator-error.js';
import { Ending } from './ending.js';
import { InProcessGateway } from './in-process-gateway.js';
import { closeWithin, type Instance, leave, stopOnSignals } from './stopping.js';

/** After this time a start shows the log lines that it held back. */
const MAX_HELD_MS = 8_000;

/** Starts the service, which then runs until a signal stops it. A failed start ends the process. */
export async function serve(withGateway = false): Promise<void> {
  // If the reader of the log or the terminal goes away, the service goes on.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const log = new ServiceLog();
  const ending = new Ending(log);
  ending.watch();
  await start(log, ending, withGateway).catch((error) => ending.fail(error));
}

async function start(log: ServiceLog, ending: Ending, withGateway: boolean): Promise<void> {
  const gateway = withGateway ? new InProcessGateway(process.env) : undefined;
  const given = readConfig(process.env);
  const config = gateway?.withToken(given) ?? given;
  log.setLevel(config.logLevel);
  for (const problem of misspelledIn(process.env)) log.warn(problem, 'Settings');
  // The log lines wait, so that a first start first says what to do.
  log.hold();
  setTimeout(() => log.release(), MAX_HELD_MS).unref();
  await gateway?.requireFreeAddresses();
  const starting = startService(config, log, gateway);
  const isStopping = stopOnSignals(starting, config, log, (error) => ending.fail(error));
  const instance = await starting;
  // Printed before the gateway starts, which may fail: the key of a new account is shown only here.
  if (log.isOnTerminal) console.log(startupBanner(instance, config));
  else for (const [fields, text] of startupLines(instance, config)) log.announce(fields, text);
  log.release();
  await gateway?.start(instance.url, log);
  void instance.database.embedded?.exited.then((code) => {
    if (isStopping()) return;
    ending.fail(
      new OperatorError(`the embedded PostgreSQL ended by itself (exit code ${code}); start again to recover`),
    );
  });
}

async function startService(config: Config, log: ServiceLog, gateway: InProcessGateway | undefined): Promise<Instance> {
  const { createApp } = await import('../../api/app.js');
  const app = await createApp(config, log);
  const close = async (signal: string): Promise<number> => {
    await leave(signal, config.shutdownDelaySeconds, app, log);
    // The gateway ends first, since its tunnels need the service.
    await gateway?.stop();
    return closeWithin(config.shutdownGraceMs, app, log);
  };
  return { ...app, close };
}
