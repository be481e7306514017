import { totalmem } from 'node:os';

const LEAST_MB = 128;
/** Enough for the pages that a busy service works on; the system caches the files besides. */
const MOST_MB = 1024;
const BYTES_OF_MB = 1 << 20;

/**
 * What PostgreSQL's `shared_buffers` are to be: an eighth of the memory there is, within limits. (Its documentation advises
 * a quarter, for a machine that does nothing else.) PostgreSQL takes of it what its data fills.
 */
export function sharedBuffersMb(memoryBytes = ourMemoryBytes()): number {
  const share = Math.floor(memoryBytes / 8 / BYTES_OF_MB);
  return Math.min(Math.max(share, LEAST_MB), MOST_MB);
}

/** The machine's, or what a container is limited to. Without a limit Node says 0, undefined, or a number beyond all machines. */
function ourMemoryBytes(): number {
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}
