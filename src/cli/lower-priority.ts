import { constants, setPriority } from 'node:os';

/** Lets other processes go first where there are too few cores for all: for long work beside a running service. */
export const lowerPriority = (): void => setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
