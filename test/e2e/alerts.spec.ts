import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { REPOSITORY, textOf } from '../support/documents.js';
import { namesIn } from '../support/metrics.js';
import { OwnGateway } from '../support/own-gateway.js';

/** Alerts, their tests, and their number. */
const FILES: [string, string, number][] = [
  ['docs/operating/alerts.yml', 'test/support/alerts.test.yml', 8],
  ['docs/operating/gateway-alerts.yml', 'test/support/gateway-alerts.test.yml', 7],
];

/** Debian's promtool ends with an error, and says why on stdout, if a file is not right. */
async function promtool(...args: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('promtool', args, { cwd: REPOSITORY }).catch((error) => {
    throw new Error(`promtool ${args.join(' ')} failed:\n${error.stdout}${error.stderr}`);
  });
  return stdout + stderr;
}

it.each(FILES)('promtool accepts the alerts of %s', async (file, _, alerts) => {
  expect(await promtool('check', 'rules', file)).toContain(`SUCCESS: ${alerts} rules found`);
});

it.each(FILES)('each alert of %s fires when it should, and is silent otherwise', async (file, testsOfIt) => {
  expect(await promtool('test', 'rules', testsOfIt)).toContain('SUCCESS');
  const alerts = [...textOf(file).matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
  const tests = textOf(testsOfIt);
  const fires = (name: string): boolean => new RegExp(`alertname: ${name}\\n.*\\n +exp_alerts:\\n`).test(tests);
  const isSilent = (name: string): boolean => new RegExp(`alertname: ${name}, .*exp_alerts: \\[\\]`).test(tests);
  expect(alerts.filter((name) => !fires(name) || !isSilent(name))).toEqual([]);
});

it('promtool accepts the configuration of Prometheus with the alerts beside it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tas-prometheus-'));
  for (const file of ['prometheus.yml', 'alerts.yml', 'gateway-alerts.yml']) {
    await cp(join(REPOSITORY, 'docs/operating', file), join(folder, file));
  }
  await writeFile(join(folder, 'tunnel-access-token'), 'a-token-of-the-metrics\n');
  expect(await promtool('check', 'config', join(folder, 'prometheus.yml'))).toMatch(
    /2 rule files found[\s\S]* is valid/,
  );
  await rm(folder, { recursive: true });
});

describe('the metrics of the gateway', () => {
  let scraped: readonly string[];
  beforeAll(async () => {
    scraped = namesIn(await (await OwnGateway.start()).metrics());
  });

  const ofGateway = (text: string): string[] => [...new Set(text.match(/\b(?:tunnel_gateway|process)_\w+/g) ?? [])];

  it('are all that its alerts use', () => {
    const used = ofGateway(textOf('docs/operating/gateway-alerts.yml'));
    expect(used.length).toBeGreaterThan(6);
    expect(used.filter((name) => !scraped.includes(name))).toEqual([]);
  });

  it('have a row each in own-gateway.md or own-edges.md, and no other has one', () => {
    const rows = ['docs/own-gateway.md', 'docs/own-edges.md'].flatMap((file) =>
      [...textOf(file).matchAll(/^\| `(tunnel_gateway_\w+)/gm)].map(([, name = '']) => name),
    );
    const own = scraped.filter((name) => name.startsWith('tunnel_gateway_'));
    expect([...new Set(rows)].sort()).toEqual([...own].sort());
  });

  it('have a row for every alert in monitoring.md, and for no other', () => {
    const [, section = ''] = textOf('docs/monitoring.md').split('\n## Alerts about gateways\n');
    const rows = [...section.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
    const alerts = [...textOf('docs/operating/gateway-alerts.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    expect(rows).toEqual(alerts);
  });
});
