import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../api/config/config.js';
import type { ServiceLog } from '../../api/service-log/service-log.js';
import type { Started } from '../../api/startup-banner.js';
import { STOP_SIGNALS } from '../../kernel/operator-error.js';
import { EXIT } from '../exit-codes.js';

export interface Instance extends Started {
  /** Tells clients to leave, finishes the requests in flight, and resolves with the exit code. */
  close(signal: string): Promise<number>;
}

/**
 * Stops on the first of STOP_SIGNALS, and ignores further ones, since npm repeats the SIGINT of the terminal. A signal
 * during the start takes effect when the start is complete, so that no embedded server is left behind. The returned
 * function says whether a stop has begun.
 */
export function stopOnSignals(
  starting: Promise<Instance>,
  { databaseUrl }: Pick<Config, 'databaseUrl'>,
  log: ServiceLog,
  fail: (error: unknown) => never,
): () => boolean {
  let isStopping = false;
  let hasStarted = false;
  starting.then(
    () => {
      hasStarted = true;
    },
    () => undefined,
  );
  const end = (code: number): never => {
    if (code === EXIT.success) log.announce({}, 'stopped');
    process.exit(code);
  };
  const stop = (signal: string): void => {
    if (isStopping) return;
    isStopping = true;
    log.release();
    log.announce({ signal }, `${signal}: finishing the requests in flight`);
    // The wait for an external database can be long, and may end at any point.
    if (!hasStarted && databaseUrl !== undefined) end(EXIT.success);
    void starting.then(async (instance) => end(await instance.close(signal))).catch(fail);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  return () => isStopping;
}

/** Clients that send a request together with the signal still get an answer. */
const LAST_REQUESTS_MS = 250;

/** Waits until clients and balancers have seen that the instance stops. Who types Ctrl+C waits for no balancer. */
export async function leave(
  signal: string,
  delaySeconds: number,
  { stopNotice }: { readonly stopNotice: { give(): void } },
  log: ServiceLog,
): Promise<void> {
  stopNotice.give();
  if (signal !== 'SIGTERM' || delaySeconds === 0) return sleep(LAST_REQUESTS_MS);
  log.announce({}, `not ready, and serving for ${delaySeconds} s more`);
  await sleep(delaySeconds * 1_000);
}

/** Closes the server, or ends the process if requests still run after `graceMs`. */
export async function closeWithin(
  graceMs: number,
  server: { close(): Promise<void> },
  log: ServiceLog,
): Promise<number> {
  setTimeout(() => {
    log.line('warn', {}, `requests were still running after ${graceMs} ms; stopping without them`);
    process.exit(EXIT.interrupted);
  }, graceMs).unref();
  await server.close();
  return EXIT.success;
}
