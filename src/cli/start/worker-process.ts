import cluster, { type Worker } from 'node:cluster';
import type { Config } from '../../config.js';
import type { EmbeddedAddress } from '../../database/database.js';
import { Channel } from '../../workers/channel.js';

const OURS = 'TUNNEL_ACCESS_WORKER';

/** Whether this process is a worker of a primary of this project. Other programs use node:cluster too, such as pm2 with -i. */
export const isOurWorker = (): boolean => cluster.isWorker && process.env[OURS] !== undefined;

/** What a worker gets of its primary: settings and files are read once, so that all workers go by the same ones. */
export interface WorkerSetup {
  readonly number: number;
  readonly workers: number;
  readonly config: Config;
  readonly startedServer: EmbeddedAddress | undefined;
}

/** Why a worker could not start. An internal error is in the log already. */
export interface StartFailure {
  readonly exitCode: number;
  readonly message: string;
}

/** How a worker ended. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly failure: StartFailure | undefined;
}

/** A worker as its primary sees it. */
export class WorkerProcess {
  readonly channel: Channel;
  /** The URL, when it listens. Never settles if the worker ends before. */
  readonly listening: Promise<string>;
  readonly ended: Promise<WorkerEnd>;
  private readonly worker: Worker;
  /** Settled when it listens to its channel: what is sent before is lost. */
  private readonly asksForSetup: Promise<void>;

  constructor(setup: WorkerSetup) {
    const worker = cluster.fork({ [OURS]: '1' });
    this.worker = worker;
    this.channel = new Channel((messages, sent) => {
      if (worker.isConnected()) worker.send(messages, sent);
      else sent();
    });
    worker.on('message', (messages) => this.channel.receive(messages));
    this.asksForSetup = new Promise((resolve) => {
      this.channel.on('setup', () => {
        resolve();
        return setup;
      });
    });
    this.listening = new Promise((resolve) => this.channel.on('listening', resolve));
    let failure: StartFailure | undefined;
    this.channel.on('failed', (why: StartFailure) => {
      failure = why;
    });
    this.ended = new Promise((resolve) => {
      // Not `exit`, after which messages may still come: the reason of a failed start, or a place taken for ever.
      worker.process.on('close', (code: number | null, signal: string | null) => resolve({ code, signal, failure }));
      // A process that could not be made has no exit; a message that a dying one did not take is no matter.
      worker.on('error', ({ message }) => {
        if (worker.process.pid === undefined) resolve({ code: null, signal: message, failure });
      });
    });
  }

  /** Lets it finish its requests. */
  stop(): void {
    void this.asksForSetup.then(() => this.channel.tell('stop'));
  }

  kill(): void {
    this.worker.process.kill('SIGKILL');
  }
}

export const howItEnded = ({ code, signal }: WorkerEnd): string => signal ?? `exit code ${code}`;
