import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { EmbeddedPostgresError, ignoreMissing } from './embedded-postgres-error.js';
import { canReach, type ServingUser, STATE_DIR } from './user.js';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly majorVersion: number;
}

/** Environment of PostgreSQL's programs. It inherits only PATH: a stray PGOPTIONS or LANG must not change a cluster. */
export const POSTGRES_ENV = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

const PLATFORM = `${process.platform}-${process.arch}`;

function packageDir(): string {
  const name = `@embedded-postgres/${PLATFORM}`;
  try {
    return path.resolve(createRequire(import.meta.url).resolve(name), '../..');
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL is not installed for this system (npm package ${name}): ` +
        'set DATABASE_URL to a PostgreSQL server, or install again without --omit=optional.',
      { cause },
    );
  }
}

/**
 * Creates the library links without which the server does not start. npm packages cannot hold symbolic links, so the
 * package's install script creates them, but `npm --ignore-scripts` skips that script.
 */
async function createLibraryLinks(pkg: string): Promise<void> {
  const list = await readFile(path.join(pkg, 'native/pg-symlinks.json'), 'utf8').catch(ignoreMissing);
  const links: { source: string; target: string }[] = JSON.parse(list ?? '[]');
  for (const { source, target } of links) await createLink(path.join(pkg, source), path.join(pkg, target));
}

async function createLink(file: string, link: string): Promise<void> {
  if (await lstat(link).catch(ignoreMissing)) return;
  await symlink(path.relative(path.dirname(link), file), link).catch((cause) => {
    if (cause.code === 'EEXIST') return; // another start created it
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL is not fully installed, and this user cannot complete it (${cause.message}): ` +
        'run "npm rebuild" as the user who installed it, or set DATABASE_URL to a PostgreSQL server.',
      { cause },
    );
  });
}

/** Makes a folder readable for all users: after an install under umask 077 only its owner can read it. */
async function makeReadable(dir: string): Promise<void> {
  await chmod(dir, 0o755);
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const { mode } = await stat(file);
    await chmod(file, mode & 0o100 ? 0o755 : 0o644);
  }
}

/** Copies the programs to where the serving user can run them. A rename makes the copy complete or absent. */
async function copyPrograms(pkg: string, version: string, log: (line: string) => void): Promise<string> {
  const copy = path.join(STATE_DIR, `bin-${version}`);
  if (await lstat(copy).catch(ignoreMissing)) return copy;
  await mkdir(STATE_DIR, { recursive: true, mode: 0o755 });
  await chmod(STATE_DIR, 0o755);
  const draft = `${copy}.new-${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await cp(path.join(pkg, 'native'), path.join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
  await createLibraryLinks(draft);
  await makeReadable(draft);
  await rename(draft, copy).catch(() => rm(draft, { recursive: true })); // another start finished first
  log(`copied the PostgreSQL programs to ${copy}, because the user that runs them cannot enter ${pkg}`);
  return copy;
}

/** Finds the server programs of the npm package, and copies them if `user` cannot run them where they are. */
export async function findBinaries(user: ServingUser | undefined, log: (line: string) => void): Promise<Binaries> {
  const pkg = packageDir();
  const { version } = JSON.parse(await readFile(path.join(pkg, 'package.json'), 'utf8'));
  const isReachable = await canReach(path.join(pkg, 'native/bin'), user);
  const home = isReachable ? pkg : await copyPrograms(pkg, version, log);
  if (isReachable) await createLibraryLinks(pkg);
  const bin = path.join(home, 'native/bin');
  return {
    initdb: path.join(bin, 'initdb'),
    postgres: path.join(bin, 'postgres'),
    majorVersion: Number.parseInt(version, 10),
  };
}

/** Explains why a program could not be started. */
export function describeSpawnError(error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') return error.message;
  return `${error.message} (if the program exists, a library that it needs is missing: it needs the GNU C library, which Alpine Linux lacks)`;
}
