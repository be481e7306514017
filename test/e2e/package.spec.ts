import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { environmentIn, installedPackage, PACKAGE } from '../support/installed-package.js';
import { stopAtEnd } from '../support/leftovers.js';
import { ADMIN_KEY } from '../support/service.js';
import { statusOf } from '../support/starts.js';

jest.setTimeout(180_000);
const run = promisify(execFile);

/** An empty folder of an operator, in which the package is installed. */
let folder: string;
const env = (): NodeJS.ProcessEnv => environmentIn(folder);

beforeAll(async () => {
  folder = await installedPackage();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const npx = (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
  run('npx', ['tunnel-access', ...args], { cwd: folder, env: env() });

/** Starts the service until it is ready. */
async function startNpx(): Promise<{ child: ChildProcess; url: string; stderr: Promise<string> }> {
  const settings = { PORT: '0', BOOTSTRAP_API_KEY: ADMIN_KEY };
  const child = spawn('npx', ['tunnel-access', 'start'], {
    cwd: folder,
    env: { ...env(), ...settings },
    detached: true,
  });
  stopAtEnd(async () => void (child.exitCode === null && process.kill(-(child.pid ?? 0), 'SIGKILL')));
  const stderr = text(child.stderr);
  let output = '';
  for await (const data of child.stdout) {
    output += data;
    const [, url] = /ready at (http:\/\/[\d.:]+)/.exec(output) ?? [];
    if (url === undefined) continue;
    return { child, url, stderr };
  }
  throw new Error(`it ended before it was ready: ${output}${await stderr}`);
}

it.each(['SIGINT', 'SIGKILL'] as const)('a pack that ends by %s leaves package.json as it was', async (signal) => {
  const checkout = await mkdtemp(join(tmpdir(), 'tas-pack-'));
  stopAtEnd(() => rm(checkout, { recursive: true, force: true }));
  await cp(new URL('../../.ci/bundle.mjs', import.meta.url), join(checkout, 'bundle.mjs'));
  const file = join(checkout, 'package.json');
  const scripts = { prepack: 'node bundle.mjs && sleep 60' };
  await writeFile(file, JSON.stringify({ name: 'packed', version: '1.0.0', scripts }));
  const before = await readFile(file, 'utf8');
  const pack = spawn('npm', ['pack'], { cwd: checkout, env: environmentIn(checkout), detached: true, stdio: 'ignore' });
  await eventually(async () => expect(await readFile(file, 'utf8')).toContain('"bundleDependencies": true'), 20_000);
  // As a terminal does, to the whole group.
  process.kill(-(pack.pid ?? 0), signal);
  await eventually(async () => expect(await readFile(file, 'utf8')).toBe(before), 20_000);
});

describe('the installed package', () => {
  it('has the command tunnel-access, which tells its version and its help', async () => {
    expect(await npx('--version')).toEqual({ stdout: `${PACKAGE.version}\n`, stderr: '' });
    expect((await npx('start', '--help')).stdout).toMatch(/^Usage: tunnel-access start /);
  });

  it('starts the service by npx without a warning, and commands run beside it', async () => {
    const { child, url, stderr } = await startNpx();
    expect(await statusOf(url, ADMIN_KEY)).toBe(200);
    expect(await npx('accounts', 'list')).toEqual({ stdout: expect.stringMatching(/\tDefault\n$/), stderr: '' });
    // As a terminal does: to the whole group.
    process.kill(-(child.pid ?? 0), 'SIGINT');
    await once(child, 'exit');
    expect(await stderr).toBe('');
  });
});
