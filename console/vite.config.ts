import { fileURLToPath } from 'node:url';
import type { UserConfig } from 'vite';

/** The service writes the path of PUBLIC_URL in place of `/__BASE__`. */
const config: UserConfig = {
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/__BASE__/console/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2023',
    assetsDir: '',
    // Nothing is inlined: the policy of the page forbids data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  logLevel: 'warn',
};

// biome-ignore lint/style/noDefaultExport: the form in which Vite loads its configuration
export default config;
