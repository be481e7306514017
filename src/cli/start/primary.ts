import cluster from 'node:cluster';
import { Logger } from '@nestjs/common';
import type { Config } from '../../config.js';
import type { EmbeddedAddress } from '../../database/database.js';
import { Interrupted, OperatorError, STOP_SIGNALS, UsageError } from '../../operator-error.js';
import { type Prepared, prepare, undo } from '../../prepare.js';
import type { ServiceLog } from '../../service-log/service-log.js';
import { configOfWorker } from '../../settings/workers.js';
import { SharedCounts } from '../../workers/shared-counts.js';
import { SummedMetrics } from '../../workers/summed-metrics.js';
import { EXIT } from '../exit-codes.js';
import { Replacements } from './replacements.js';
import type { Instance } from './stopping.js';
import { howItEnded, type WorkerEnd, WorkerProcess } from './worker-process.js';

/** Beyond the time that a worker gives its requests, before it is killed. */
const MAX_LATE_MS = 2_000;

/** Prepares the database once, then starts the workers; resolves when all of them listen. */
export async function startPrimary(config: Config, log: ServiceLog): Promise<Instance> {
  Logger.overrideLogger(log);
  const prepared = await prepare(config, log);
  const primary = new Primary(config, prepared, log);
  try {
    await prepared.database.disconnect();
    const url = await primary.start();
    return { ...prepared, url, close: () => primary.close() };
  } catch (error) {
    await primary.kill();
    await undo(prepared.database);
    throw error;
  }
}

/** Starts, replaces and stops the workers, and counts for all of them. It serves no requests. */
class Primary {
  private readonly counts = new SharedCounts();
  private readonly metrics = new SummedMetrics();
  private readonly workers = new Map<number, WorkerProcess>();
  private readonly replacements: Replacements;
  private isRunning = false;

  constructor(
    private readonly config: Config,
    private readonly prepared: Prepared,
    log: ServiceLog,
  ) {
    // By default messages are JSON, which has no sets and no bytes.
    cluster.setupPrimary({ serialization: 'advanced' });
    this.replacements = new Replacements(log, (number) => this.run(number).listening);
  }

  async start(): Promise<string> {
    const numbers = Array.from({ length: this.config.workers }, (_, n) => n + 1);
    const workers = numbers.map((number) => this.run(number));
    const failures = workers.map(({ ended }, n) => ended.then((end) => failStart(n + 1, end)));
    // A worker that listened and ended while another one still starts fails the start too.
    const [url = ''] = await Promise.race([Promise.all(workers.map(({ listening }) => listening)), ...failures]);
    this.isRunning = true;
    return url;
  }

  /** Resolves with the worst exit code of the workers. */
  async close(): Promise<number> {
    this.isRunning = false;
    this.replacements.stop();
    const workers = [...this.workers.values()];
    for (const worker of workers) worker.stop();
    const late = setTimeout(() => void this.kill(), this.config.shutdownGraceMs + MAX_LATE_MS);
    const ends = await Promise.all(workers.map(({ ended }) => ended));
    clearTimeout(late);
    await this.prepared.database.close();
    return Math.max(...ends.map(({ code }) => code ?? EXIT.interrupted), EXIT.success);
  }

  async kill(): Promise<void> {
    const workers = [...this.workers.values()];
    for (const worker of workers) worker.kill();
    await Promise.all(workers.map(({ ended }) => ended));
  }

  private run(number: number): WorkerProcess {
    const { config, prepared } = this;
    const worker = new WorkerProcess({
      number,
      workers: config.workers,
      config: { ...configOfWorker(config, number), checkpointKey: prepared.checkpointKey },
      startedServer: addressOf(prepared.database),
    });
    this.workers.set(number, worker);
    const forget = [this.counts.serve(worker.channel), this.metrics.serve(worker.channel)];
    const startedAt = performance.now();
    void worker.ended.then((end) => {
      this.workers.delete(number);
      for (const one of forget) one();
      if (this.isRunning) this.replacements.replace(number, end, performance.now() - startedAt);
    });
    return worker;
  }
}

function failStart(number: number, end: WorkerEnd): never {
  const { failure } = end;
  if (failure?.exitCode === EXIT.internal) throw new Error(`worker ${number} could not start: ${failure.message}`);
  if (failure?.exitCode === EXIT.usage) throw new UsageError(failure.message);
  if (failure !== undefined) throw new OperatorError(failure.message);
  // A terminal sends its signal to the workers too, and Node does not listen yet.
  if (STOP_SIGNALS.some((signal) => signal === end.signal)) throw new Interrupted(`${end.signal} ended the start`);
  throw new OperatorError(`worker ${number} ended before it was ready (${howItEnded(end)}); start again`);
}

const addressOf = ({ embedded }: Prepared['database']): EmbeddedAddress | undefined =>
  embedded && { host: embedded.host, port: embedded.port, user: embedded.user };
