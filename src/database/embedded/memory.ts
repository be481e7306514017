import { totalmem } from 'node:os';

const MIN_MB = 128;
/** Enough for the pages that a busy service uses; the operating system caches the files in addition. */
const MAX_MB = 1024;
const BYTES_PER_MB = 1 << 20;

/**
 * Size of PostgreSQL's `shared_buffers`: an eighth of the memory, within limits. PostgreSQL's documentation advises a
 * quarter, but for a dedicated machine. Only pages that hold data occupy memory.
 */
export function sharedBuffersMb(memoryBytes = availableMemoryBytes()): number {
  const share = Math.floor(memoryBytes / 8 / BYTES_PER_MB);
  return Math.min(Math.max(share, MIN_MB), MAX_MB);
}

/** Memory of the machine or limit of the container; without a limit Node reports 0, undefined or a huge number. */
function availableMemoryBytes(): number {
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}
