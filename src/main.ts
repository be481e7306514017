import 'reflect-metadata';
import { type App, createApp } from './app.js';
import { type Config, ConfigError, readConfig } from './config.js';
import { DatabaseUnusable } from './database/database.js';
import { EmbeddedPostgresError } from './database/embedded/embedded-postgres-error.js';
import { welcome } from './startup-banner.js';

const EXIT_FAILED = 1;
const EXIT_MISUSE = 2;

function configOrExit(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) console.error(problem);
    process.exit(EXIT_MISUSE);
  }
}

/** What went wrong, for a person where we know it, with the stack where we do not. */
function explain(error: unknown): string {
  if (error instanceof DatabaseUnusable || error instanceof EmbeddedPostgresError) return error.message;
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return `${error.message}: another program listens there; stop it or set PORT`;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function fail(error: unknown): never {
  console.error(explain(error));
  process.exit(EXIT_FAILED);
}

/**
 * Stops once, however often it is asked: npm passes on a Ctrl-C that the terminal has already sent us. A stop during the
 * start waits for it to end, so that no database server is left behind.
 */
function stopOnSignals(starting: Promise<App>, config: Config): () => boolean {
  const { shutdownGraceMs: graceMs } = config;
  let stopping = false;
  let started = false;
  starting.then(
    () => {
      started = true;
    },
    () => undefined,
  );
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    console.log(`${signal}: finishing what is in flight`);
    // A start on somebody else's database leaves nothing behind, and may wait long for it.
    if (!started && config.databaseUrl !== undefined) process.exit(0);
    void starting.then(async (app) => {
      setTimeout(() => {
        console.error(`requests were still running after ${graceMs} ms; stopping without them`);
        process.exit(EXIT_FAILED);
      }, graceMs).unref();
      await app.close().catch(fail);
      process.exit(0);
    }, fail);
  };
  process.on('SIGINT', () => stop('SIGINT'));
  process.on('SIGTERM', () => stop('SIGTERM'));
  return () => stopping;
}

const config = configOrExit();
const starting = createApp(config);
const isStopping = stopOnSignals(starting, config);
const app = await starting.catch(fail);
console.log(welcome(app, config));
void app.database.embedded?.exited.then((code) => {
  if (!isStopping()) fail(`the embedded PostgreSQL ended by itself (exit code ${code}); start again to recover`);
});
