// Builds the program if a source is newer than it, so that a command of a checkout need not compile first.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

if (!existsSync('node_modules')) {
  console.error('its packages are not installed; run: npm ci');
  process.exit(1);
}

const timeOf = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const sources = ['src', 'migrations', 'console'].flatMap((folder) =>
  readdirSync(folder, { recursive: true }).map((name) => join(folder, name)),
);
const newest = Math.max(...[...sources, 'package.json', 'tsconfig.json', 'tsconfig.build.json'].map(timeOf));
// The build touches this file.
if (timeOf('dist/src/operator/cli.js') < newest) {
  console.error('building, since the source is newer ...');
  process.exitCode = spawnSync('npm', ['run', '-s', 'build'], { stdio: ['ignore', 2, 2] }).status ?? 1;
}
