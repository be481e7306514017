import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
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

describe('the installed package', () => {
  it('has the package.json of the checkout, which a pack that is stopped therefore leaves as it was', async () => {
    const installed = await readFile(`${folder}/node_modules/${PACKAGE.name}/package.json`, 'utf8');
    expect(installed).toBe(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  });

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
