import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { stopAtEnd } from '../support/leftovers.js';
import { ADMIN_KEY } from '../support/service.js';
import { statusOf } from '../support/starts.js';

jest.setTimeout(180_000);
const ROOT = new URL('../..', import.meta.url).pathname;
const run = promisify(execFile);
const PACKAGE = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** An empty folder of an operator, in which the package is installed. */
let folder: string;
/** Without the settings and the npm configuration of the machine that runs the test. */
const env = (): NodeJS.ProcessEnv => ({ PATH: process.env.PATH, HOME: join(folder, 'home') });

/** Unpacks the tarball as npm does. The packages that it needs are those of the checkout, since a test has no network. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-package-'));
  await chmod(folder, 0o711);
  const modules = join(folder, 'node_modules');
  const installed = join(modules, PACKAGE.name);
  await mkdir(join(modules, '.bin'), { recursive: true });
  await mkdir(installed);
  await mkdir(join(folder, 'home'));
  await writeFile(join(folder, 'package.json'), '{}');
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT, env: env() });
  const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  await run('tar', ['-xzf', join(folder, tarball), '-C', installed, '--strip-components=1']);
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (!name.startsWith('.')) await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  }
  for (const [name, file] of Object.entries<string>(PACKAGE.bin)) {
    await chmod(join(installed, file), 0o755);
    await symlink(join('..', PACKAGE.name, file), join(modules, '.bin', name));
  }
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
