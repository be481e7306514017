// `npm pack` runs it: the package is to contain its dependencies in the tested versions. package.json cannot say so for good:
// npm would then run the install scripts of all of them at `npm ci`. So it says so until npm has ended, however that happens.
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const FILE = 'package.json';
const [, script, original, npm] = process.argv;

if (original === undefined) {
  const text = readFileSync(FILE, 'utf8');
  // npm runs a shell, which runs this.
  const parent = execFileSync('ps', ['-o', 'ppid=', '-p', String(process.ppid)], { encoding: 'utf8' }).trim();
  // In a session of its own, so that no Ctrl-C reaches it.
  spawn(process.execPath, [script, text, parent], { detached: true, stdio: 'ignore' }).unref();
  write(`${JSON.stringify({ ...JSON.parse(text), bundleDependencies: true }, null, 2)}\n`);
} else {
  while (isRunning(Number(npm))) await sleep(100);
  write(original);
}

/** Never leaves a part of the file. */
function write(text) {
  writeFileSync(`${FILE}.new`, text);
  renameSync(`${FILE}.new`, FILE);
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
