import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
// Nest needs it. Of two imports that begin at once, one may meet Nest's modules before it is there.
import 'reflect-metadata';

const ROOT = pathToFileURL(`${process.cwd()}/`).href;

/** A JavaScript file as it is; for src/api/app.ts the compiled dist/src/api/app.js. */
function urlOf(file) {
  const url = pathToFileURL(file).href;
  if (!url.endsWith('.ts')) return url;
  const compiled = new URL(url.slice(ROOT.length).replace(/\.ts$/, '.js'), `${ROOT}dist/`);
  if (existsSync(compiled)) return compiled.href;
  throw new Error(`${compiled.pathname} is missing; run the tests with \`npm test\`, which builds first`);
}

let lastImport = Promise.resolve();

/** One import after another: each finds the modules that it shares with others complete. Jest keeps only the code below. */
globalThis.importOutside = (url) => {
  lastImport = lastImport.then(
    () => import(url),
    () => import(url),
  );
  return lastImport;
};

/**
 * A transformer of Jest: a test file gets modules of the service from outside of its own realm, as Node itself loads them.
 * So a worker loads the service once, and not once for each file.
 */
// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a transformer
export default {
  async processAsync(_source, file) {
    const url = urlOf(file);
    const { default: main, ...named } = await globalThis.importOutside(url);
    const exported = Object.keys(named).map((name) => `export const ${name} = outside.${name};`);
    if (main !== undefined) exported.push('export default outside.default;');
    return {
      code: `import { runInThisContext } from 'node:vm';
const outside = await runInThisContext('importOutside')(${JSON.stringify(url)});
${exported.join('\n')}`,
    };
  },
};
