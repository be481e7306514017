import { lstat, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { ignoreMissing } from './embedded-postgres-error.js';

/** The folders on the way to `dir`, itself included, that do not exist; the innermost first. */
export async function missingFolders(dir: string): Promise<string[]> {
  const missing: string[] = [];
  for (let at = dir; (await lstat(at).catch(ignoreMissing)) === undefined; at = path.dirname(at)) missing.push(at);
  return missing;
}

/** What a start has made, so that a failed one leaves nothing. */
export interface NewFolders {
  /** The cluster and the files that lead to it; empty if the cluster was there before. */
  readonly cluster: readonly string[];
  /** The innermost first. */
  readonly around: readonly string[];
}

/** Removes the new cluster, and those new folders around it that hold nothing else. */
export async function removeNew({ cluster, around }: NewFolders): Promise<void> {
  for (const file of cluster) await rm(file, { recursive: true, force: true });
  // One that holds something else is refused.
  for (const folder of around) await rmdir(folder).catch(() => undefined);
}
