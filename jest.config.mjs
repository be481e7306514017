/** TypeScript as the tests have it; a test of the compiled service imports that instead of `src`. */
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

const project = (displayName, testMatch, options = {}) => ({
  displayName,
  testMatch: testMatch.map((pattern) => `<rootDir>/${pattern}`),
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  testEnvironment: 'node',
  transform: { '^.+\\.ts$': compile },
  ...options,
});

/** Tests of the running service. What they import of it, and the packages that it shares with them, comes from outside. */
const service = (displayName, testMatch, options = {}) =>
  project(displayName, testMatch, {
    transform: {
      '/(src/.+\\.ts|outside/.+\\.mjs)$': `${SUPPORT}/outside/modules.mjs`,
      '/node_modules/(@nestjs/common|fast-check|pg/esm)/': `${SUPPORT}/outside/modules.mjs`,
      '^.+\\.ts$': compile,
    },
    transformIgnorePatterns: ['/node_modules/(?!(@nestjs/common|fast-check|pg/esm)/)'],
    setupFiles: [`${SUPPORT}/shared-globals.ts`],
    setupFilesAfterEnv: [`${SUPPORT}/stop-leftovers.ts`],
    ...options,
  });

const onPostgres = (setup) => ({
  globalSetup: `${SUPPORT}/${setup}.mjs`,
  globalTeardown: `${SUPPORT}/global-teardown.mjs`,
});

// biome-ignore lint/style/noDefaultExport: the form in which Jest loads its configuration
export default {
  projects: [
    project('pure', ['src/**/*.spec.ts']),
    service('service', ['test/*.spec.ts', 'test/clients/*.spec.ts'], onPostgres('global-setup')),
    service('load', ['test/load/*.spec.ts'], onPostgres('global-setup')),
    service('e2e', ['test/e2e/*.spec.ts'], onPostgres('global-setup-e2e')),
    service('faults', ['test/faults/*.spec.ts'], { globalSetup: `${SUPPORT}/global-setup-faults.mjs` }),
    service('ha', ['test/ha/*.spec.ts']),
  ],
  reporters: ['default', 'summary', `${SUPPORT}/closing-line-reporter.mjs`],
  testTimeout: 60_000,
  maxWorkers: '100%',
};
