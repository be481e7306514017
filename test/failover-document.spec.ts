import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

const read = (file: string): string => readFileSync(new URL(`../docs/${file}`, import.meta.url), 'utf8');

it('docs/failover.md quotes the configuration that the tests with Patroni run', () => {
  const [, quoted = ''] = /```yaml\n(ttl[\s\S]*?)```/.exec(read('failover.md')) ?? [];
  const lines = quoted.trim().split('\n');
  const tested = read('failover/patroni.yml')
    .split('\n')
    .map((line) => line.trim());
  expect(lines.length).toBeGreaterThan(3);
  expect(lines.filter((line) => !tested.includes(line))).toEqual([]);
});
