import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { blocksOf } from './documents.js';
import { freePort } from './free-port.js';
import { stopAtEnd } from './leftovers.js';
import { demandNamespaces } from './machine.js';

const run = promisify(execFile);
const REPOSITORY = new URL('../../', import.meta.url).pathname;
const SCRIPT = new URL('sshd-gateway.sh', import.meta.url).pathname;
/** The namespaces of sshd. It has no network namespace: its tunnels are on the loopback addresses of this machine. */
const NAMESPACES = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];

const LOG_PATIENCE_MS = 10_000;

export interface SshdGateway {
  readonly port: number;
  /** Resolves once sshd has logged this text. */
  readonly logged: (text: string) => Promise<void>;
  readonly stop: () => Promise<void>;
  /**
   * Runs commands beside sshd until `end`, which ends their last program by SIGTERM and resolves with its exit code.
   */
  readonly run: (commands: string) => Promise<RunningCommands>;
}

export interface RunningCommands {
  readonly output: () => string;
  readonly ended: Promise<number | null>;
  readonly end: () => Promise<number | null>;
}

export interface GatewaySettings {
  /** Base URL of the service, and one of its GATEWAY_TOKENS. */
  readonly service: string;
  readonly token: string;
  /** Lines of /etc/hosts: the names that sshd can bind, each with its loopback address. */
  readonly hosts: readonly string[];
  /** sshd and the key command write to a journal, as under systemd. */
  readonly hasJournal?: boolean;
}

/** Stock sshd with its own /etc. The commands of docs/sshd-gateway.md set it up from the files in docs/sshd-gateway. */
export async function startSshdGateway({
  service,
  token,
  hosts,
  hasJournal = false,
}: GatewaySettings): Promise<SshdGateway> {
  await demandNamespaces(NAMESPACES);
  const setUp = blocksOf('sshd-setup').map(({ text }) => text);
  const scratch = await mkdtemp(join(tmpdir(), 'tas-sshd-'));
  const port = await freePort('127.0.0.1');
  const env = {
    PATH: `${process.env.PATH}:/usr/sbin`,
    SCRATCH: scratch,
    HOSTS: hosts.join('\n'),
    GATEWAY_PORT: String(port),
    JOURNAL: String(hasJournal),
    SERVICE: service,
    TOKEN: token,
  };
  const child = spawn('unshare', [...NAMESPACES, 'bash', SCRIPT], { cwd: REPOSITORY, env });
  const ended = once(child, 'close');
  const stop = stopAtEnd(async () => {
    // Ends every process of the namespace, also for clients that are logged in.
    child.kill('SIGKILL');
    await ended;
    await rmdir(scratch);
  });
  let log = '';
  const keep = (data: Buffer): void => {
    log += data;
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const logged = async (text: string): Promise<void> => {
    const deadline = Date.now() + LOG_PATIENCE_MS;
    while (!log.includes(text)) {
      if (child.exitCode !== null || Date.now() > deadline) throw new Error(`sshd did not log '${text}', but:\n${log}`);
      await sleep(10);
    }
  };
  child.stdin.end(setUp.join('\n'));
  await logged('Server listening on');
  return { port, logged, stop, run: (commands) => runInNamespaces(String(child.pid), commands) };
}

/** The first process of the namespaces is the only child of `unshare`. */
async function runInNamespaces(unshare: string, commands: string): Promise<RunningCommands> {
  const first = (await readFile(`/proc/${unshare}/task/${unshare}/children`, 'utf8')).trim();
  const enter = ['--target', first, '--mount', '--pid'];
  // nsenter does not forward signals.
  const child = spawn('nsenter', [...enter, 'sh', '-c', `echo $$; cd ${REPOSITORY}; ${commands}`], {
    env: process.env,
  });
  const ended: Promise<number | null> = once(child, 'close').then(([code]) => code);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => {
      output += data;
    });
  }
  const end = async (): Promise<number | null> => {
    if (child.exitCode === null)
      await run('nsenter', [...enter, 'kill', output.split('\n')[0] ?? '']).catch(() => undefined);
    return ended;
  };
  return { output: () => output, ended, end };
}
