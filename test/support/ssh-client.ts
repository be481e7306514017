import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stopAtEnd } from './leftovers.js';

const run = promisify(execFile);

export interface KeyPair {
  readonly file: string;
  /** The line of the .pub file. */
  readonly publicKey: string;
}

/** A key pair made by ssh-keygen, deleted when the test file ends. */
export async function newKeyPair(...kind: string[]): Promise<KeyPair> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-key-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'key');
  await run('ssh-keygen', ['-q', ...(kind.length > 0 ? kind : ['-t', 'ed25519']), '-N', '', '-f', file]);
  return { file, publicKey: (await readFile(`${file}.pub`, 'utf8')).trim() };
}

/** The result of one run of ssh: a login with all its forwardings in place, or the end of ssh. */
export interface Login {
  readonly isOpen: boolean;
  /** Output of `ssh -v` so far. */
  readonly output: () => string;
  /** Makes ssh silent, as if its machine were gone. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Ends ssh without a word to the gateway. */
  readonly kill: () => void;
  readonly close: () => Promise<void>;
  /** Resolves when ssh has ended. */
  readonly ended: Promise<unknown>;
}

/** Options that ignore the configuration, keys and agent of the machine and the user. */
const OPTIONS = [
  ...['-F', 'none', '-v'],
  ...['IdentitiesOnly=yes', 'IdentityAgent=none', 'BatchMode=yes', 'ExitOnForwardFailure=yes'].flatMap((o) => [
    '-o',
    o,
  ]),
  ...['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'GlobalKnownHostsFile=/dev/null'].flatMap((o) => [
    '-o',
    o,
  ]),
];

/** ssh uses the first value of an option, so `options` override the common ones here. */
const argumentsOf = (
  port: number,
  key: KeyPair,
  options: readonly string[],
  command: readonly string[] = [],
): string[] => [...options, ...OPTIONS, ...['-p', String(port), '-i', key.file], ...['tunnel@127.0.0.1', ...command]];

/** The last message of ssh about an established forwarding; for a random port (0) it names the port. */
const IN_PLACE = /remote forward success for: listen .*:(?!0,)-?\d+, connect|Allocated port \d+ for/g;

/** Runs `ssh -N` with these forwardings until all of them are established or ssh has given up. */
export function logIn(port: number, key: KeyPair, ...forwardings: string[]): Promise<Login> {
  const remote = forwardings.filter((argument) => argument === '-R').length;
  return startSsh(argumentsOf(port, key, ['-N', ...forwardings]), (output) => {
    const inPlace = output.match(IN_PLACE)?.length ?? 0;
    return output.includes('Entering interactive session') && inPlace >= remote;
  });
}

/** Runs `ssh -N`, which continues without the refused binds, until each bind (`host:port`) has its answer. */
export function logInWithSome(port: number, key: KeyPair, binds: readonly string[], target: string): Promise<Login> {
  const options = ['-N', '-o', 'ExitOnForwardFailure=no', ...binds.flatMap((listen) => ['-R', `${listen}:${target}`])];
  return startSsh(
    argumentsOf(port, key, options),
    (output) => permittedOf(output).length + refusedOf(output).length >= binds.length,
  );
}

/** The permitted and the refused binds, as ssh requested them. */
export const permittedOf = (output: string): string[] => bindsIn(output, 'success');
const refusedOf = (output: string): string[] => bindsIn(output, 'failure');
const bindsIn = (output: string, answer: string): string[] =>
  [...output.matchAll(new RegExp(`remote forward ${answer} for: listen (.*), connect`, 'g'))].map(
    ([, bind = '']) => bind,
  );

async function startSsh(args: readonly string[], isReady: (output: string) => boolean): Promise<Login> {
  const child = spawn('ssh', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const ended = once(child, 'close');
  const isOpen = await new Promise<boolean>((resolve) => {
    let isWaiting = true;
    const read = (data: Buffer): void => {
      output += data;
      // ssh writes on: a search of all that it ever wrote would take the time of the gateway in this process.
      if (!isWaiting || !isReady(output)) return;
      isWaiting = false;
      resolve(true);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void ended.then(() => resolve(false));
  });
  const close = stopAtEnd(async () => {
    child.kill();
    child.kill('SIGCONT');
    await ended;
  });
  const signal = (name: NodeJS.Signals) => (): void => void child.kill(name);
  return {
    isOpen,
    output: () => output,
    freeze: signal('SIGSTOP'),
    thaw: signal('SIGCONT'),
    kill: signal('SIGKILL'),
    close,
    ended,
  };
}

export interface SshSession {
  readonly output: () => string;
  readonly kill: () => void;
  /** Ends with a goodbye. */
  readonly leave: () => void;
  /** Resolves with the time of the end. */
  readonly ended: Promise<number>;
}

/** ssh with a session at a terminal, which shows what the gateway says. */
export function startSession(port: number, key: KeyPair, ...forwards: string[]): SshSession {
  const child = spawn('ssh', [
    ...['-F', 'none', '-tt', '-p', String(port), '-i', key.file, '-o', 'IdentitiesOnly=yes'],
    ...['-o', 'IdentityAgent=none', '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'],
    ...[...forwards.flatMap((forward) => ['-R', forward]), 'tunnel@127.0.0.1'],
  ]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  stopAtEnd(async () => void child.kill('SIGKILL'));
  const ended = once(child, 'close').then(() => performance.now());
  const signal = (name: NodeJS.Signals) => (): void => void child.kill(name);
  return { output: () => output, kill: signal('SIGKILL'), leave: signal('SIGTERM'), ended };
}

/** Runs ssh with other options, and optionally a command, until it ends. */
export async function runSsh(port: number, key: KeyPair, options: readonly string[], command: readonly string[] = []) {
  const child = spawn('ssh', argumentsOf(port, key, options, command), { stdio: ['ignore', 'pipe', 'pipe'] });
  stopAtEnd(async () => void child.kill());
  let stderr = '';
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  const [code] = await once(child, 'close');
  return { code: code as number | null, stderr };
}

/** Sends a command to the master of a login, which was opened with `-M -S socket`. Returns what ssh printed. */
export async function askMaster(socket: string, ...args: readonly string[]): Promise<string> {
  const { output, ended } = throughMaster(socket, args);
  await ended;
  return output();
}

/** A session with a terminal in the connection of the master. The master stays when the session closes. */
export function openSession(socket: string): Pick<Login, 'output' | 'close'> {
  return throughMaster(socket, ['-tt']);
}

function throughMaster(socket: string, args: readonly string[]) {
  const child = spawn('ssh', ['-F', 'none', '-S', socket, ...args, 'x'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      output += data;
    });
  }
  const close = stopAtEnd(async () => {
    child.kill();
    await ended;
  });
  return { output: () => output, close, ended };
}
