import { constants, setPriority } from 'node:os';

/** For long work beside a running service: on a busy machine other processes go first. */
export const lowerPriority = (): void => setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
