import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = new URL('../..', import.meta.url).pathname;
const run = promisify(execFile);

export const PACKAGE = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** Without the settings and the npm configuration of the machine that runs the test. */
export const environmentIn = (folder: string): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: join(folder, 'home'),
});

/**
 * Installs the package in a new folder of an operator. It unpacks the tarball as npm does. The packages that it needs are
 * those of the checkout, since a test has no network.
 */
export async function installedPackage(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-package-'));
  await chmod(folder, 0o711);
  const modules = join(folder, 'node_modules');
  const installed = join(modules, PACKAGE.name);
  await mkdir(join(modules, '.bin'), { recursive: true });
  await mkdir(installed);
  await mkdir(join(folder, 'home'));
  await writeFile(join(folder, 'package.json'), '{}');
  const pack = ['pack', '--ignore-scripts', '--pack-destination', folder];
  await run('npm', pack, { cwd: ROOT, env: environmentIn(folder) });
  const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  await run('tar', ['-xzf', join(folder, tarball), '-C', installed, '--strip-components=1']);
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (!name.startsWith('.')) await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  }
  for (const [name, file] of Object.entries<string>(PACKAGE.bin)) {
    await chmod(join(installed, file), 0o755);
    await symlink(join('..', PACKAGE.name, file), join(modules, '.bin', name));
  }
  return folder;
}
