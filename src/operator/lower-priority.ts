import { constants, setPriority } from 'node:os';

/** Lets other processes go first on a busy machine. For long work beside a running service. */
export const lowerPriority = (): void => setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
