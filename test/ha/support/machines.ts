import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { stopAtEnd } from '../../support/leftovers.js';

const run = promisify(execFile);
const ip = async (...args: string[]): Promise<void> => void (await run('ip', args));

/** All machines are on this bridge; those that are cut off are together on the other one. */
const MAIN = 'main';
const ISLAND = 'island';
/** The test itself reaches the instances of the service over a bridge that no fault touches. */
const CONTROL = 'control';

/** The bridges, and the test's own addresses on them. */
export async function buildNetwork(): Promise<void> {
  for (const bridge of [MAIN, ISLAND, CONTROL]) {
    await ip('link', 'add', bridge, 'type', 'bridge');
    await ip('link', 'set', bridge, 'up');
  }
  await ip('addr', 'add', '10.77.0.1/24', 'dev', MAIN);
  await ip('addr', 'add', '10.78.0.1/24', 'dev', CONTROL);
}

export interface Program {
  readonly output: () => string;
  readonly isRunning: () => boolean;
  /** SIGKILL to every process that the program has started, in one moment. */
  readonly kill: () => Promise<void>;
}

/** A machine as the others see it: an address of its own on the network, and processes that die together. */
export class Machine {
  private readonly programs = new Set<Program>();

  private constructor(
    readonly name: string,
    readonly host: number,
  ) {}

  static async add(name: string, host: number): Promise<Machine> {
    const machine = new Machine(name, host);
    await ip('netns', 'add', name);
    await ip('-n', name, 'link', 'set', 'lo', 'up');
    await machine.plug(`${name}-0`, 'eth0', MAIN, `10.77.0.${host}/24`);
    return machine;
  }

  /** A second network card, on the bridge that no fault touches. */
  async addControl(): Promise<string> {
    await this.plug(`${this.name}-1`, 'eth1', CONTROL, `10.78.0.${this.host}/24`);
    return `10.78.0.${this.host}`;
  }

  private async plug(port: string, card: string, bridge: string, address: string): Promise<void> {
    await ip('link', 'add', port, 'type', 'veth', 'peer', 'name', card, 'netns', this.name);
    await ip('link', 'set', port, 'master', bridge, 'up');
    await ip('-n', this.name, 'addr', 'add', address, 'dev', card);
    await ip('-n', this.name, 'link', 'set', card, 'up');
  }

  /** From now on it reaches only the other machines that are cut off. No packet tells anyone. */
  cutOff = (): Promise<void> => ip('link', 'set', `${this.name}-0`, 'master', ISLAND);
  reconnect = (): Promise<void> => ip('link', 'set', `${this.name}-0`, 'master', MAIN);

  start(user: string, command: readonly string[], env: Record<string, string> = {}): Program {
    // The change of user clears the signal that unshare's --kill-child has set, so setpriv sets it again.
    const asUser = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--pdeathsig=KILL'];
    const ownProcesses = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const child = spawn('ip', ['netns', 'exec', this.name, ...ownProcesses, ...asUser, ...command], {
      // The user may not enter the checkout.
      cwd: '/',
      env: { PATH: process.env.PATH, LANG: 'C.UTF-8', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const program = watch(child);
    this.programs.add(program);
    // Jest does not end while a child runs.
    stopAtEnd(program.kill);
    return program;
  }

  /** Kills every program of the machine; its address stays, so connections to it are refused. */
  async kill(): Promise<void> {
    await Promise.all([...this.programs].map((program) => program.kill()));
    this.programs.clear();
  }
}

function watch(child: ChildProcess): Program {
  let output = '';
  const keep = (data: Buffer): void => {
    output += data;
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const closed = once(child, 'close');
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  return {
    output: () => output,
    isRunning,
    kill: async () => {
      if (isRunning()) child.kill('SIGKILL');
      await closed;
    },
  };
}
