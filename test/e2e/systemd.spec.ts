import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { readGatewayConfig } from '../../src/api/config/config.js';
import { blocksOf, REPOSITORY, textOf } from '../support/documents.js';

const run = promisify(execFile);

const UNITS = ['operating', 'sshd-gateway', 'collectors'].flatMap((folder) =>
  readdirSync(join(REPOSITORY, 'docs', folder))
    .filter((file) => /\.(service|timer)$/.test(file))
    .map((file) => `docs/${folder}/${file}`),
);

it.each(UNITS)('systemd accepts every line of %s', async (unit) => {
  // Unknown settings are only warnings.
  expect(await run('systemd-analyze', ['verify', join(REPOSITORY, unit)])).toEqual({ stdout: '', stderr: '' });
});

it.each(UNITS.filter((unit) => unit.endsWith('.service')))('%s says how many files it needs', (unit) => {
  expect(textOf(unit)).toMatch(/^# .*\.\nLimitNOFILE=\d+$/m);
});

it.each(['docs/operating/tunnel-access-gateway.service', 'docs/sshd-gateway/tunnel-gateway.service'])(
  'the journal drops no line of %s',
  (file) => {
    expect(textOf(file)).toMatch(/^LogRateLimitIntervalSec=0$/m);
  },
);

describe('the unit of the gateway', () => {
  const unit = textOf('docs/operating/tunnel-access-gateway.service');
  const setting = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';
  const { maxEdgeConnections, maxAccountConnections, maxAccountBinds, maxAccountChannels, maxBufferedBytes } =
    readGatewayConfig({});

  it('starts it again whatever ended it, however often', () => {
    expect([setting('Restart'), setting('StartLimitIntervalSec')]).toEqual(['always', '0']);
  });

  it('has memory for four times what may wait for slow readers', () => {
    const [, gigabytes] = /^(\d+)G$/.exec(setting('MemoryMax')) ?? [];
    expect(Number(gigabytes) * 2 ** 30).toBe(4 * maxBufferedBytes);
  });

  it('has files for twice what the limits of an account and of all edges permit', () => {
    const permitted = maxEdgeConnections + maxAccountConnections + maxAccountBinds + maxAccountChannels;
    expect(Number(setting('LimitNOFILE'))).toBeGreaterThan(2 * permitted);
  });
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
