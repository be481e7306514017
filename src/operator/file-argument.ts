import { dirname, resolve } from 'node:path';

/** The path of a file argument, from where the user stands: `npm run` calls a program in the folder of its package. */
export function fileArgument(path: string): string {
  const { INIT_CWD: from, npm_package_json: file } = process.env;
  const isMoved = from !== undefined && from !== process.cwd() && file !== undefined && dirname(file) === process.cwd();
  return isMoved && path !== '-' ? resolve(from, path) : path;
}
