import { Logger } from '@nestjs/common';
import { type Server, serve } from '../../app.js';
import { openDatabase } from '../../database/database.js';
import { messageOf } from '../../error-message.js';
import { STOP_SIGNALS } from '../../operator-error.js';
import { logDatabaseLine } from '../../prepare.js';
import { redacted } from '../../service-log/redaction.js';
import { ServiceLog } from '../../service-log/service-log.js';
import { Channel } from '../../workers/channel.js';
import { OneOfMany } from '../../workers/one-of-many.js';
import { EXIT, failureOf } from '../exit-codes.js';
import { Ending } from './ending.js';
import { closeWithin } from './stopping.js';
import type { StartFailure, WorkerSetup } from './worker-process.js';

/** Serves beside other workers, until the primary stops it. If the primary ends, node:cluster ends this process. */
export async function runWorker(): Promise<void> {
  // A terminal or a service manager sends its signal to every process; the primary alone acts on it.
  for (const signal of STOP_SIGNALS) process.on(signal, () => undefined);
  const channel = new Channel((messages, sent) => process.send?.(messages, sent));
  process.on('message', (messages: []) => channel.receive(messages));
  // A worker that replaces another may be told before it serves.
  const toldToStop = new Promise<void>((resolve) => channel.on('stop', resolve));
  const setup = await channel.ask<WorkerSetup>('setup');
  const log = new ServiceLog(setup.config.logLevel, { worker: setup.number });
  const ending = new Ending(log);
  ending.watch();
  Logger.overrideLogger(log);
  let server: Server | undefined;
  void toldToStop.then(async () =>
    process.exit(server === undefined ? EXIT.success : await closeWithin(setup.config.shutdownGraceMs, server, log)),
  );
  try {
    server = await start(setup, channel, log);
    channel.tell('listening', server.url);
  } catch (error) {
    await giveUp(error, channel, ending);
  }
}

async function start(
  { config, startedServer, ...place }: WorkerSetup,
  channel: Channel,
  log: ServiceLog,
): Promise<Server> {
  const database = await openDatabase({ ...config, startedServer }, (line) => logDatabaseLine(log, line));
  return serve(config, { database, checkpointKey: config.checkpointKey }, log, new OneOfMany(channel, place));
}

/** The primary says why, since the reason is often the same in each worker. A bug is logged here, with its stack. */
async function giveUp(reason: unknown, channel: Channel, ending: Ending): Promise<never> {
  const { exitCode, error } = failureOf(reason);
  if (exitCode === EXIT.internal) ending.reportBug(error);
  channel.tell('failed', { exitCode, message: redacted(messageOf(error)) } satisfies StartFailure);
  await channel.flush();
  process.exit(exitCode);
}
