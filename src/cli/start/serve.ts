import { type App, createApp } from '../../app.js';
import { type Config, readConfig } from '../../config.js';
import { messageOf } from '../../error-message.js';
import { OperatorError, STOP_SIGNALS } from '../../operator-error.js';
import { redacted } from '../../service-log/redaction.js';
import { ServiceLog } from '../../service-log/service-log.js';
import { startupBanner, startupLines } from '../../startup-banner.js';
import { EXIT, exitOnUncaughtError, failureOf } from '../exit-codes.js';
import { GatewayBeside } from './gateway-beside.js';

const log = new ServiceLog();

function fail(reason: unknown): never {
  const { exitCode, error } = failureOf(reason);
  if (exitCode === EXIT.internal) reportBug(error);
  else log.line('fatal', { exit_code: exitCode }, redacted(messageOf(error)));
  process.exit(exitCode);
}

const reportBug = (error: unknown): void =>
  log.line('fatal', { exit_code: EXIT.internal, err: error }, `internal error: ${redacted(messageOf(error))}`);

/** Starts the service, which then runs until a signal stops it. A failed start ends the process. */
export async function serve(withGateway = false): Promise<void> {
  // A reader of the log that went away, or a closed terminal, must not end the service.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  exitOnUncaughtError(reportBug);
  logWarnings();
  await start(withGateway).catch(fail);
}

async function start(withGateway: boolean): Promise<void> {
  const beside = withGateway ? new GatewayBeside(process.env) : undefined;
  const given = readConfig(process.env);
  const config = beside?.knownTo(given) ?? given;
  log.setLevel(config.logLevel);
  const starting = createApp(config, log);
  const isStopping = stopOnSignals(starting, config, beside);
  const app = await starting;
  if (log.isOnTerminal) console.log(startupBanner(app, config));
  else for (const [fields, text] of startupLines(app, config)) log.announce(fields, text);
  await beside?.start(app.url, log);
  void app.database.embedded?.exited.then((code) => {
    if (isStopping()) return;
    fail(new OperatorError(`the embedded PostgreSQL ended by itself (exit code ${code}); start again to recover`));
  });
}

/**
 * Stops on the first of STOP_SIGNALS; npm repeats the SIGINT that the terminal has already sent. A signal during the
 * start takes effect when it is complete: else an embedded server would be left behind. The result says whether it stops.
 */
function stopOnSignals(starting: Promise<App>, config: Config, beside?: GatewayBeside): () => boolean {
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
    log.announce({ signal }, `${signal}: finishing the requests in flight`);
    // The wait for an external database can be long, and may end at any point.
    if (!hasStarted && config.databaseUrl !== undefined) end();
    void starting.then((app) => close(app, config.shutdownGraceMs, beside)).catch(fail);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  return () => isStopping;
}

async function close(app: App, graceMs: number, beside?: GatewayBeside): Promise<void> {
  setTimeout(() => {
    log.line('warn', {}, `requests were still running after ${graceMs} ms; stopping without them`);
    process.exit(EXIT.interrupted);
  }, graceMs).unref();
  await beside?.stop();
  await app.close();
  end();
}

function end(): never {
  log.announce({}, 'stopped');
  process.exit(EXIT.success);
}

/** Node prints its own warnings as plain text. */
function logWarnings(): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => log.line('warn', { context: name }, redacted(message)));
}
