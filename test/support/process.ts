import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { stopAtEnd } from './leftovers.js';
import { runCommand } from './outside/commands.mjs';

const MAIN = new URL('../../dist/src/main.js', import.meta.url).pathname;
export const CLI = new URL('../../dist/src/operator/cli.js', import.meta.url).pathname;
const READY = /ready at (http:\/\/[^\s"]+)/;

export interface LogLine {
  readonly level: string;
  readonly time: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface RunningMain {
  readonly child: ChildProcess;
  /** Base URL, once it is ready. Rejects when the process ends first. */
  readonly url: Promise<string>;
  readonly output: () => string;
  /** Exit code and signal. */
  readonly ended: Promise<{ code: number | null; output: string }>;
}

/** Runs the program as `npm start` does, with only the given settings in its environment. */
export function startMain(settings: Record<string, string>, ...args: string[]): RunningMain {
  const child = spawn(process.execPath, [MAIN, ...args], { env: environment({ PORT: '0', ...settings }) });
  const kill = stopAtEnd(async () => void child.kill('SIGKILL'));
  let output = '';
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  const url = new Promise<string>((resolve, reject) => {
    const read = (data: Buffer): void => {
      output += data;
      const ready = READY.exec(output)?.[1];
      if (ready !== undefined) resolve(ready);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void ended.then(() => reject(new Error(`it ended before it was ready:\n${output}`)));
  });
  url.catch(() => undefined);
  void ended.then(kill);
  return { child, url, output: () => output, ended };
}

/** The log of the program so far. Throws unless every line is JSON. */
export const logLines = ({ output }: RunningMain): LogLine[] =>
  output()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** Runs the program with arguments until it ends. */
export const spawnMain = (settings: Record<string, string>, ...args: string[]): RunningMain['ended'] =>
  startMain(settings, ...args).ended;

export async function stopMain(main: RunningMain, signal: NodeJS.Signals = 'SIGTERM') {
  main.child.kill(signal);
  return main.ended;
}

type Ended = Promise<{ code: number | null; stdout: string; stderr: string }>;

export interface RunningCli {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly ended: Ended;
}

/** Starts a command of the operator, with only the given settings in its environment. */
export function startCli(settings: Record<string, string>, ...args: string[]): RunningCli {
  const child = spawn(process.execPath, [CLI, ...args], { env: environment(settings) });
  const kill = stopAtEnd(async () => void child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => {
    stdout += data;
  });
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stdout, stderr }));
  void ended.then(kill);
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

/** Runs a command in its own process. */
export const spawnCli = (settings: Record<string, string>, ...args: string[]): Ended =>
  startCli(settings, ...args).ended;

/** Runs a command for its output and exit code only, in a process that has already loaded the program. */
export const runCli = (settings: Record<string, string>, ...args: string[]): Ended =>
  runCommand(environment(settings), args);

/** Runs a command in the same way, with this text as its stdin. */
export const runCliOn = (stdin: string, settings: Record<string, string>, ...args: string[]): Ended =>
  runCommand(environment(settings), args, stdin);

const environment = (settings: Record<string, string>): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  ...settings,
});
