import { availableParallelism } from 'node:os';

/** TypeScript is compiled in memory; only the types are checked elsewhere (`npm run types`). */
const compile = [
  '@swc/jest',
  {
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
      target: 'es2022',
      keepClassNames: true,
    },
    module: { type: 'es6' },
    sourceMaps: 'inline',
  },
];

const SUPPORT = '<rootDir>/test/support';
/** A JavaScript module as Node itself loads it, outside of the realm of a test file: a worker loads it once for all its files. */
const outside = `${SUPPORT}/outside/modules.mjs`;

/** `packages`: a pattern of those that come from outside. */
const project = (displayName, testMatch, packages, options = {}) => ({
  displayName,
  testMatch: testMatch.map((pattern) => `<rootDir>/${pattern}`),
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  testEnvironment: 'node',
  transformIgnorePatterns: [`/node_modules/(?!(${packages})/)`],
  ...options,
  setupFiles: [`${SUPPORT}/earlier-files.ts`, ...(options.setupFiles ?? [])],
  transform: {
    ...options.transform,
    [`(/node_modules/(${packages})/|/test/support/outside/.+\\.mjs$)`]: outside,
    '^.+\\.ts$': compile,
  },
});

/** Tests of the running service import its compiled modules, and the packages that it shares with them, from outside. */
const service = (displayName, testMatch, options = {}) =>
  project(displayName, testMatch, '@nestjs/common|@nestjs/swagger|fast-check|pg/esm', {
    transform: { '/src/.+\\.ts$': outside },
    setupFiles: [`${SUPPORT}/shared-globals.ts`],
    setupFilesAfterEnv: [`${SUPPORT}/stop-leftovers.ts`],
    ...options,
  });

const onPostgres = (setup) => ({
  globalSetup: `${SUPPORT}/${setup}.mjs`,
  globalTeardown: `${SUPPORT}/global-teardown.mjs`,
});

/**
 * `npm test` gives V8 two flags, which the workers inherit: most functions of a test run too seldom to repay their
 * optimization, and a larger young generation is collected less often.
 */
// biome-ignore lint/style/noDefaultExport: the form in which Jest loads its configuration
export default {
  projects: [
    project('pure', ['src/**/*.spec.ts'], 'fast-check'),
    service('service', ['test/*.spec.ts', 'test/clients/*.spec.ts'], onPostgres('global-setup')),
    service('program', ['test/program/*.spec.ts'], onPostgres('global-setup')),
    service('load', ['test/load/*.spec.ts'], onPostgres('global-setup')),
    service('e2e', ['test/e2e/*.spec.ts'], onPostgres('global-setup-e2e')),
    service('console', ['test/console/*.spec.ts'], onPostgres('global-setup-console')),
    service('faults', ['test/faults/*.spec.ts'], { globalSetup: `${SUPPORT}/global-setup-faults.mjs` }),
    service('ha', ['test/ha/*.spec.ts']),
  ],
  reporters: ['default', 'summary', `${SUPPORT}/closing-line-reporter.mjs`],
  testSequencer: `${SUPPORT}/long-files-first.mjs`,
  testTimeout: 60_000,
  // A worker often waits for PostgreSQL, for a lock or for a deadline. Jest takes a percentage above 100 for a number.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
};
