import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { cloneCheckout } from '../support/checkout.js';
import { asSeen, blocksOf, REPOSITORY, type Run, transcriptIn } from '../support/documents.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { startInForeground, Terminal } from '../support/terminal.js';

/** Near the end of what a start prints. */
const READY = 'Tunnel access service is ready at';

const commandsOf = (name: Run): string =>
  blocksOf(name)
    .map(({ text }) => text)
    .join('\n');

/**
 * A folder with an npm whose `npm ci` takes the packages of this checkout, and its build with the time of that: .ci/run
 * begins with the real one. The start then builds what has changed.
 */
async function folderWithNpm(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-npm-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  const ci = `ln -s '${REPOSITORY}node_modules' . && cp -a '${REPOSITORY}dist' .`;
  const npm = `#!/bin/sh\nPATH=\${PATH#*:}\n[ "$*" = ci ] || exec npm "$@"\n${ci}\n`;
  await writeFile(join(folder, 'npm'), npm);
  await chmod(join(folder, 'npm'), 0o755);
  return folder;
}

/** The gateway of these pages listens on a port of its own choice, so one test runs them all, in turn. */
it('a new user can follow the README through an edge, the tour, the audit and gateway examples, and open and close a tunnel of docs/own-gateway.md, word by word', async () => {
  const cwd = await cloneCheckout();
  // 8080 may be in use here.
  const port = await freePort('127.0.0.1');
  const env = {
    PATH: `${await folderWithNpm()}:${process.env.PATH}`,
    HOME: process.env.HOME ?? '',
    PORT: String(port),
    SERVICE_URL: `http://127.0.0.1:${port}`,
    npm_config_prefer_offline: 'true',
    // npm shows its progress on a terminal.
    npm_config_progress: 'false',
    XDG_CONFIG_HOME: join(cwd, 'config'),
  };
  const service = await startInForeground(commandsOf('start'), READY, { cwd, env });
  const [, key = ''] = /API key {3}(\S+) {2}\(for the login/.exec(service.output()) ?? [];
  const terminal = Terminal.open({ cwd, env });
  const login = commandsOf('login').trim().replace('8080', String(port));
  expect(service.output()).toContain(login);
  await terminal.run(`${login} <<< ${key}`);
  const inReadme = blocksOf('tour').filter(({ document }) => document === 'README.md');
  await terminal.runAll(inReadme);
  const transcript = transcriptIn('README.md').map(asSeen);
  expect(transcript).toHaveLength(10);
  await terminal.runAll(transcript);
  await terminal.runAll(blocksOf('tour').slice(inReadme.length));
  await service.interrupt();

  const again = await startInForeground(commandsOf('gateway-start'), READY, { cwd, env });
  await terminal.runAll(blocksOf('gateway'));
  const gateway = await startInForeground(commandsOf('own-gateway-start'), 'SSH gateway is ready at', { cwd, env });
  expect(gateway.output()).toMatch(/host key SHA256:/);
  await terminal.runAll(blocksOf('own-gateway'));
  await gateway.interrupt();
  await again.interrupt();

  await terminal.runAll(blocksOf('tour-end'));
  expect(existsSync(join(cwd, 'data'))).toBe(false);
}, 600_000);
