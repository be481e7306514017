import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const SRC = new URL('../src', import.meta.url).pathname;

interface Import {
  readonly from: string;
  /** A path under src/ without its ending, or the name of a package. */
  readonly to: string;
}

const IMPORT = /^(?:import|export)\s[^;]*?from\s+'([^']+)'|^import\s+'([^']+)'/gm;

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
  .sort();

const imports: Import[] = files.flatMap((from) =>
  [...readFileSync(join(SRC, from), 'utf8').matchAll(IMPORT)].map((match) => {
    const text = match[1] ?? match[2] ?? '';
    const to = text.startsWith('.') ? relative(SRC, join(SRC, dirname(from), text)).replace(/\.js$/, '') : text;
    return { from, to };
  }),
);

/** Files that decide: they import no package but these, and no file that is not pure itself. */
const PURE = [
  /^(problem|caller|host-name|omit-undefined)\.ts$/,
  /^resources\/read-only-fields\.ts$/,
  /^log\/event\.ts$/,
  /^(public-keys|bind-rules)\//,
  /^ssh-credentials\/ssh-credential\.ts$/,
  /^tcp-edges\/(tcp-edge|edge-modules|hostport)\.ts$/,
  /^access\/accounts\/(account|principal)\.ts$/,
  /^access\/api-keys\/api-key\.ts$/,
  /^access\/authentication\/(failure-limit|issuer-url|gateway-tokens)\.ts$/,
  /^ssh-gateway\/(bind-decisions\/decision|question|compiled-acls|authorized-keys)\.ts$/,
];
const PACKAGES_OF_PURE_FILES = ['node:crypto', 'node:net', 'node:url', 'node:buffer', 'sshpk'];
const SLICES = ['access', 'ssh-credentials', 'ssh-gateway', 'tcp-edges', 'audit'];
/** The gateway asks about credentials and edges: the one slice that stands on others. */
const SLICE_EXCEPTIONS = new Map([['ssh-gateway', ['ssh-credentials', 'tcp-edges']]]);

const isPure = (file: string): boolean => PURE.some((pattern) => pattern.test(file));
const sliceOf = (path: string): string | undefined => SLICES.find((slice) => path.startsWith(`${slice}/`));
const isPackage = (to: string): boolean => !files.includes(`${to}.ts`) && !to.startsWith('..');

describe('the structure holds', () => {
  it('reads the imports it judges', () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(imports).toContainEqual({ from: 'app.ts', to: 'app.module' });
  });

  it('pure files import only pure files and a few packages', () => {
    const impure = imports.filter(
      ({ from, to }) => isPure(from) && (isPackage(to) ? !PACKAGES_OF_PURE_FILES.includes(to) : !isPure(`${to}.ts`)),
    );
    expect(impure).toEqual([]);
  });

  it('every pattern of pure files names a file', () => {
    expect(PURE.filter((pattern) => !files.some((file) => pattern.test(file)))).toEqual([]);
  });

  it('slices do not import each other', () => {
    const across = imports.filter(({ from, to }) => {
      const [own, other] = [sliceOf(from), sliceOf(to)];
      if (own === undefined || other === undefined || own === other) return false;
      return !(SLICE_EXCEPTIONS.get(own) ?? []).includes(other);
    });
    expect(across).toEqual([]);
  });

  it('what slices stand on does not import slices', () => {
    const upwards = imports.filter(({ from, to }) => /^(log|http|database)\//.test(from) && sliceOf(to) !== undefined);
    expect(upwards).toEqual([]);
  });

  it('nothing imports the app but what starts it', () => {
    const askers = imports.filter(({ to }) => to === 'app' || to === 'app.module').map(({ from }) => from);
    expect(askers).toEqual(['app.ts', 'main.ts']);
  });

  it('no barrels and no drawers', () => {
    expect(files.filter((file) => /(^|\/)(index\.ts|(common|utils?|shared|core)\/)/.test(file))).toEqual([]);
  });
});
