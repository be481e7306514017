import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { REPOSITORY, textOf } from '../support/documents.js';

const ALERTS = 'docs/operating/alerts.yml';
const TESTS = 'test/support/alerts.test.yml';

/** Debian's promtool ends with an error, and says why on stdout, if a file is not right. */
async function promtool(...args: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('promtool', args, { cwd: REPOSITORY }).catch((error) => {
    throw new Error(`promtool ${args.join(' ')} failed:\n${error.stdout}${error.stderr}`);
  });
  return stdout + stderr;
}

it('promtool accepts the seven alerts', async () => {
  expect(await promtool('check', 'rules', ALERTS)).toContain('SUCCESS: 7 rules found');
});

it('each alert fires when it should, and is silent otherwise', async () => {
  expect(await promtool('test', 'rules', TESTS)).toContain('SUCCESS');
  const alerts = [...textOf(ALERTS).matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
  const tests = textOf(TESTS);
  const fires = (name: string): boolean => new RegExp(`alertname: ${name}\\n.*\\n +exp_alerts:\\n`).test(tests);
  const isSilent = (name: string): boolean => new RegExp(`alertname: ${name}, .*exp_alerts: \\[\\]`).test(tests);
  expect(alerts.filter((name) => !fires(name) || !isSilent(name))).toEqual([]);
});

it('promtool accepts the configuration of Prometheus with the alerts beside it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tas-prometheus-'));
  for (const file of ['prometheus.yml', 'alerts.yml']) {
    await cp(join(REPOSITORY, 'docs/operating', file), join(folder, file));
  }
  await writeFile(join(folder, 'tunnel-access-token'), 'a-token-of-the-metrics\n');
  expect(await promtool('check', 'config', join(folder, 'prometheus.yml'))).toMatch(
    /1 rule files found[\s\S]* is valid/,
  );
  await rm(folder, { recursive: true });
});
