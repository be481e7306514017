import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { absent, EmbeddedPostgresError } from './embedded-postgres-error.js';
import { isOpenTo, OPEN_HOME, type ServingUser } from './user.js';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly majorVersion: number;
}

/** PostgreSQL's programs see nothing of our environment: a stray PGOPTIONS or LANG must not change a cluster. */
export const POSTGRES_ENV = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

const PLATFORM = `${process.platform}-${process.arch}`;

function packageDir(): string {
  const name = `@embedded-postgres/${PLATFORM}`;
  try {
    return path.resolve(createRequire(import.meta.url).resolve(name), '../..');
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The PostgreSQL that comes with the service is not installed for this system (npm package ${name}): ` +
        'set DATABASE_URL to a PostgreSQL server, or install again without --omit=optional.',
      { cause },
    );
  }
}

/**
 * npm packages cannot hold symbolic links, so the package's install script makes them; without them the server finds no libraries.
 * Under `npm --ignore-scripts` it has not run: we make them, as it would.
 */
async function makeLibraryLinks(pkg: string): Promise<void> {
  const list = await readFile(path.join(pkg, 'native/pg-symlinks.json'), 'utf8').catch(absent);
  const links: { source: string; target: string }[] = JSON.parse(list ?? '[]');
  for (const { source, target } of links) await makeLink(path.join(pkg, source), path.join(pkg, target));
}

async function makeLink(file: string, link: string): Promise<void> {
  if (await lstat(link).catch(absent)) return;
  await symlink(path.relative(path.dirname(link), file), link).catch((cause) => {
    if (cause.code === 'EEXIST') return; // another start made it
    throw new EmbeddedPostgresError(
      `The PostgreSQL that comes with the service is not fully installed, and this user cannot complete it (${cause.message}): ` +
        'run "npm rebuild" as the user who installed it, or set DATABASE_URL to a PostgreSQL server.',
      { cause },
    );
  });
}

/** An install under umask 077 is readable by its owner only. */
async function letAllRead(dir: string): Promise<void> {
  await chmod(dir, 0o755);
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const { mode } = await stat(file);
    await chmod(file, mode & 0o100 ? 0o755 : 0o644);
  }
}

/** A copy the serving user can run, shared by every start of this version; made aside and renamed, so that it is whole or absent. */
async function openCopy(pkg: string, version: string, log: (line: string) => void): Promise<string> {
  const copy = path.join(OPEN_HOME, `bin-${version}`);
  if (await lstat(copy).catch(absent)) return copy;
  await mkdir(OPEN_HOME, { recursive: true, mode: 0o755 });
  await chmod(OPEN_HOME, 0o755);
  const draft = `${copy}.new-${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await cp(path.join(pkg, 'native'), path.join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
  await makeLibraryLinks(draft);
  await letAllRead(draft);
  await rename(draft, copy).catch(() => rm(draft, { recursive: true })); // another start was first
  log(`copied the PostgreSQL programs to ${copy}, because ${pkg} is closed to the user they run as`);
  return copy;
}

/** The server programs of the npm package, in a folder where `user` can run them. */
export async function findBinaries(user: ServingUser | undefined, log: (line: string) => void): Promise<Binaries> {
  const pkg = packageDir();
  const { version } = JSON.parse(await readFile(path.join(pkg, 'package.json'), 'utf8'));
  const isOpen = await isOpenTo(path.join(pkg, 'native/bin'), user);
  const home = isOpen ? pkg : await openCopy(pkg, version, log);
  if (isOpen) await makeLibraryLinks(pkg);
  const bin = path.join(home, 'native/bin');
  return {
    initdb: path.join(bin, 'initdb'),
    postgres: path.join(bin, 'postgres'),
    majorVersion: Number.parseInt(version, 10),
  };
}

/** What a program that did not even begin to run means. */
export function hint(error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') return error.message;
  return `${error.message} (the program is there, but not what it needs to run; these programs need the GNU C library, which Alpine Linux lacks)`;
}
