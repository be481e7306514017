import { readdirSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { JOURNEYS, PROJECTS, ROOMS, SQL, suitesOf } from '../.ci/suites.mjs';
import { REPOSITORY } from './support/documents.js';

const filesOf = (project: string): string[] =>
  readdirSync(`${REPOSITORY}/test/${project}`).filter((file) => file.endsWith('.spec.ts'));

it('each file of a suite runs when some room changes', () => {
  const patterns = [JOURNEYS, ...ROOMS.map(([, project, files]) => [project, files])];
  const never = PROJECTS.flatMap((project) =>
    filesOf(project).filter(
      (file) => !patterns.some(([one, files = '']) => one === project && new RegExp(files).test(file)),
    ),
  );
  expect(never).toEqual([]);
});

it('each pattern of a room finds a file', () => {
  const idle = ROOMS.filter(
    ([, project = '', files = '']) => !filesOf(project).some((file) => new RegExp(files).test(file)),
  );
  expect(idle).toEqual([]);
});

it('each folder of the log, the gateway, the rules and the kernel asks for suites, also a file of it that is new', () => {
  const folders = ['event-log', 'gateway', 'rules'].flatMap((room) =>
    readdirSync(`${REPOSITORY}/src/${room}`, { withFileTypes: true }).map((one) =>
      one.isDirectory() ? `${room}/${one.name}/new.ts` : `${room}/new.ts`,
    ),
  );
  expect([...folders, 'kernel/new.ts'].filter((path) => suitesOf([`src/${path}`])[0]?.[1] === JOURNEYS[1])).toEqual([]);
});

it.each<[string, string[][]]>([
  ['docs/api.md', [['e2e', 'journeys']]],
  ['src/gateway/ssh/limits.spec.ts', [['e2e', 'journeys']]],
  ['src/database/README.md', [['e2e', 'journeys']]],
  ['README.md', [['e2e', 'journeys|tour']]],
  ['src/gateway/proxy-protocol/read-header.ts', [['e2e', 'journeys|own-gateway-balancer']]],
  [
    'src/gateway/http/visitor.ts',
    [
      ['e2e', 'journeys|own-gateway-(http|names|caddy)'],
      ['load', 'names'],
    ],
  ],
  [
    'test/faults/kills.spec.ts',
    [
      ['e2e', 'journeys'],
      ['faults', 'kills'],
    ],
  ],
])('a change of %s asks for its own suites alone', (path, suites) => {
  expect(suitesOf([path])).toEqual(suites);
});

it('a changed line of SQL asks for the plans of all statements', () => {
  expect(suitesOf([], ['src/api/resources/owners.ts'])).toEqual([['e2e', 'journeys|query-plans']]);
  const statements = ['select t.id from tunnels t', '  where t.account_id = $1', 'insert into events', 'order by t.id'];
  expect(statements.filter((line) => !new RegExp(SQL).test(line))).toEqual([]);
});

it('a change of the append asks for its laws under load, and for the faults of a database', () => {
  const suites = new Map(suitesOf(['src/event-log/append/batcher.ts']) as [string, string][]);
  expect([suites.get('load'), suites.get('faults')]).toEqual([
    'laws|interrupted-deletions',
    'kills|double-failure|disk-full',
  ]);
});
