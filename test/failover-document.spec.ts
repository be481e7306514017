import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { blocksOf } from './support/documents.js';

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

it('docs/failover.md names the packages that the tests with Patroni install', () => {
  const [block] = blocksOf('packages');
  const [, packages = ''] = /^apt-get install (.*)$/m.exec(block?.text ?? '') ?? [];
  const lab = readFileSync(new URL('ha/support/lab.mjs', import.meta.url), 'utf8');
  expect(packages.split(' ').length).toBeGreaterThan(3);
  expect(packages.split(' ').filter((name) => !lab.includes(`'${name}']`))).toEqual([]);
});
