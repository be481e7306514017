import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { REPOSITORY, textOf } from './support/documents.js';

interface Manifest {
  readonly dependencies: Record<string, string>;
  readonly optionalDependencies: Record<string, string>;
}
interface Locked {
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
}

const json = <T>(file: string): T => JSON.parse(readFileSync(join(REPOSITORY, file), 'utf8')) as T;
const { dependencies, optionalDependencies } = json<Manifest>('package.json');
const { packages: locked } = json<{ packages: Record<string, Locked> }>('package-lock.json');
/** Their package.json has the old field `licenses`, which npm does not copy. */
const OLD_FIELD = ['node_modules/ssh2', 'node_modules/cpu-features', 'node_modules/buildcheck'];
const packages: Record<string, Locked> = {
  ...locked,
  ...Object.fromEntries(OLD_FIELD.map((place) => [place, { ...locked[place], license: 'MIT' }])),
};
const DOCUMENT = textOf('docs/dependencies.md');
/** Every package of a production installation, by its place in node_modules. */
const installed = Object.entries(packages).filter(([place, { dev }]) => place !== '' && dev !== true);
const required = installed.filter(([, { optional }]) => optional !== true);

describe('the document of dependencies', () => {
  it('has a row for each direct dependency, with its license', () => {
    const rows = [...DOCUMENT.matchAll(/^\| (`[^|]*`) \| ([^|]+) \|/gm)];
    const documented = rows.flatMap(([, names = '', license]) =>
      [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => [name, license]),
    );
    const direct = Object.keys({ ...dependencies, ...optionalDependencies });
    const expected = direct.map((name) => [name, packages[`node_modules/${name}`]?.license]);
    expect(documented.toSorted()).toEqual(expected.toSorted());
  });

  it('counts the packages', () => {
    const counts = [`${Object.keys(dependencies).length} direct dependencies`, `${required.length} packages`];
    for (const count of counts) expect(DOCUMENT).toContain(count);
  });

  it('names every license of a production installation', () => {
    const licenses = [...new Set(installed.map(([place, { license }]) => license ?? `none of ${place}`))];
    const [, section = ''] = DOCUMENT.split('## Licenses');
    expect(licenses.filter((license) => !section.includes(license))).toEqual([]);
  });
});

it('no package of a production installation reports anything to its makers', () => {
  expect(installed.filter(([place]) => place.includes('scarf'))).toEqual([]);
});
