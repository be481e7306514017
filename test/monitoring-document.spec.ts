import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { textOf } from './support/documents.js';
import { METRICS_TOKEN, namesIn, scrape } from './support/metrics.js';
import { GATEWAY, type Service, startService } from './support/service.js';

let service: Service;
let scraped: string[];
beforeAll(async () => {
  service = await startService({ ...GATEWAY, metricsToken: METRICS_TOKEN });
  scraped = namesIn(await scrape(service.app.url));
});
afterAll(() => service.stop());

const section = (heading: string): string =>
  textOf('docs/monitoring.md').split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';

/** What stands in backticks in the first cell of each row of a table. */
const firstCells = (text: string): string[] =>
  [...text.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  );

const alerts = textOf('docs/operating/alerts.yml');

describe('docs/monitoring.md', () => {
  it('has a row for every metric of a real scrape, and for no other', () => {
    // Node tells less of a process on other systems than Linux.
    const known =
      process.platform === 'linux' ? scraped : [...scraped, ...firstCells(section('Metrics')).filter(isOfNode)];
    expect(firstCells(section('Metrics')).sort()).toEqual([...new Set(known)].sort());
  });

  it('has a row for every alert, and for no other', () => {
    const names = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
    expect(names).toHaveLength(8);
    expect(firstCells(section('Alerts'))).toEqual(names);
  });
});

const isOfNode = (name: string): boolean => /^(process|nodejs)_/.test(name);

describe('the alerts', () => {
  it('use only metrics that a real scrape has', () => {
    const used = [...alerts.matchAll(/\b(?:tunnel_access|process|nodejs)_\w+/g)].map(([name]) => name);
    expect(used.length).toBeGreaterThan(6);
    const exists = (name: string): boolean => scraped.includes(name) || scraped.includes(name.replace(/_bucket$/, ''));
    expect(used.filter((name) => !exists(name))).toEqual([]);
  });

  it('name only routes and reasons that exist', async () => {
    const routes = [...alerts.matchAll(/route!~"([^"]+)"/g)].flatMap(([, pattern = '']) => pattern.split('|'));
    expect(routes.length).toBeGreaterThan(6);
    const isRoute = (pattern: string): boolean =>
      service.app.routes.some(({ path }) => new RegExp(`^(?:${pattern})$`).test(path));
    expect(routes.filter((pattern) => !isRoute(pattern))).toEqual([]);
    const reasons = [...alerts.matchAll(/reason!="(\w+)"/g)].map(([, reason]) => reason);
    const text = await scrape(service.app.url);
    expect(reasons.filter((reason) => !text.includes(`reason="${reason}"`))).toEqual([]);
  });
});
