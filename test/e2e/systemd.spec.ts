import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { blocksOf, REPOSITORY } from '../support/documents.js';

const run = promisify(execFile);

it.each([
  'docs/operating/tunnel-access@.service',
  'docs/sshd-gateway/tunnel-gateway.service',
  'docs/sshd-gateway/tunnel-access-sshd-reaper.service',
])('systemd accepts every line of %s', async (unit) => {
  // Unknown settings are only warnings.
  expect(await run('systemd-analyze', ['verify', join(REPOSITORY, unit)])).toEqual({ stdout: '', stderr: '' });
});

it('the journal drops no line of the gateway', () => {
  const unit = readFileSync(join(REPOSITORY, 'docs/sshd-gateway/tunnel-gateway.service'), 'utf8');
  expect(unit).toMatch(/^LogRateLimitIntervalSec=0$/m);
});

it.each([
  ['sshd-systemd', blocksOf('sshd-systemd')],
  ['sshd-reaper-systemd', blocksOf('sshd-reaper-systemd')],
])('the commands %s install and enable a unit of the repository', (_, blocks) => {
  const commands = blocks.map(({ text }) => text).join('\n');
  const [, installed = ''] = /^install -m 644 (\S+) \/etc\/systemd\/system\/$/m.exec(commands) ?? [];
  const [, enabled] = /^systemctl enable --now (\S+)$/m.exec(commands) ?? [];
  expect(existsSync(join(REPOSITORY, installed))).toBe(true);
  expect(`${enabled}.service`).toBe(basename(installed));
});
