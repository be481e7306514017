import { type ChildProcess, execFile, spawn } from 'node:child_process';
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

/** A key pair as people make them, deleted when the test file ends. */
export async function newKeyPair(...kind: string[]): Promise<KeyPair> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-key-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'key');
  await run('ssh-keygen', ['-q', ...(kind.length > 0 ? kind : ['-t', 'ed25519']), '-N', '', '-f', file]);
  return { file, publicKey: (await readFile(`${file}.pub`, 'utf8')).trim() };
}

/** What one run of ssh came to: a login with all its forwardings in place, or the end of ssh. */
export interface Login {
  readonly isOpen: boolean;
  /** What ssh has said so far, at `-v`. */
  readonly output: () => string;
  readonly close: () => Promise<void>;
}

/** Nothing of the machine's or the user's own configuration, keys or agent takes part. */
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

export const sshArguments = (port: number, keyFile: string, ...more: string[]): string[] => [
  ...OPTIONS,
  ...['-p', String(port), '-i', keyFile],
  ...more,
  'tunnel@127.0.0.1',
];

/** `ssh -N` with these forwardings, until all of them are in place or ssh has given up. */
export async function logIn(port: number, key: KeyPair, ...forwardings: string[]): Promise<Login> {
  const child = spawn('ssh', sshArguments(port, key.file, '-N', ...forwardings), { stdio: ['ignore', 'pipe', 'pipe'] });
  const remote = forwardings.filter((argument) => argument === '-R').length;
  let output = '';
  const ended = once(child, 'close');
  const isOpen = await new Promise<boolean>((resolve) => {
    const read = (data: Buffer): void => {
      output += data;
      const inPlace = output.match(/remote forward success for/g)?.length ?? 0;
      if (output.includes('Entering interactive session') && inPlace >= remote) resolve(true);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void ended.then(() => resolve(false));
  });
  return { isOpen, output: () => output, close: closing(child, ended) };
}

function closing(child: ChildProcess, ended: Promise<unknown>): () => Promise<void> {
  return stopAtEnd(async () => {
    child.kill();
    await ended;
  });
}

/** ssh with other options, and perhaps a command, to its end. */
export async function runSsh(port: number, key: KeyPair, options: readonly string[], command: readonly string[] = []) {
  const child = spawn('ssh', [...sshArguments(port, key.file, ...options), ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  stopAtEnd(async () => void child.kill());
  let stderr = '';
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  const [code] = await once(child, 'close');
  return { code: code as number | null, stderr };
}
