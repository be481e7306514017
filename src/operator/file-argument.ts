import { resolve } from 'node:path';

/** The path of a file argument, from where the user stands: `npm run` calls a program in the folder of the package. */
export const fileArgument = (path: string): string => resolve(process.env.INIT_CWD ?? '.', path);
