import { type App, createApp } from '../../app.js';
import { type Config, readConfig } from '../../config.js';
import { OperatorError, STOP_SIGNALS } from '../../operator-error.js';
import { startupBanner } from '../../startup-banner.js';
import { EXIT, reportFailure } from '../exit-codes.js';

const fail = (error: unknown): never => process.exit(reportFailure(error));

/** Starts the service, which then runs until a signal stops it. A failed start ends the process. */
export async function serve(): Promise<void> {
  // A reader of the log that went away, or a closed terminal, must not end the service.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  await start().catch(fail);
}

async function start(): Promise<void> {
  const config = readConfig(process.env);
  const starting = createApp(config);
  const isStopping = stopOnSignals(starting, config);
  const app = await starting;
  console.log(startupBanner(app, config));
  void app.database.embedded?.exited.then((code) => {
    if (isStopping()) return;
    fail(new OperatorError(`the embedded PostgreSQL ended by itself (exit code ${code}); start again to recover`));
  });
}

/**
 * Stops on the first of STOP_SIGNALS; npm repeats the SIGINT that the terminal has already sent. A signal during the
 * start takes effect when it is complete: else an embedded server would be left behind. The result says whether it stops.
 */
function stopOnSignals(starting: Promise<App>, config: Config): () => boolean {
  let isStopping = false;
  let hasStarted = false;
  starting.then(
    () => {
      hasStarted = true;
    },
    () => undefined,
  );
  const stop = (signal: string): void => {
    if (isStopping) return;
    isStopping = true;
    console.log(`${signal}: finishing the requests in flight`);
    // The wait for an external database can be long, and may end at any point.
    if (!hasStarted && config.databaseUrl !== undefined) process.exit(EXIT.success);
    void starting.then((app) => close(app, config.shutdownGraceMs)).catch(fail);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  return () => isStopping;
}

async function close(app: App, graceMs: number): Promise<void> {
  setTimeout(() => {
    console.error(`requests were still running after ${graceMs} ms; stopping without them`);
    process.exit(EXIT.interrupted);
  }, graceMs).unref();
  await app.close();
  process.exit(EXIT.success);
}
