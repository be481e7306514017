import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
// Nest needs it. It is loaded here first, since of two imports at once one may load Nest before it.
import 'reflect-metadata';

const ROOT = pathToFileURL(`${process.cwd()}/`).href;

/**
 * The URL of a JavaScript file, or of the compiled file of a TypeScript file: dist/src/api/app.js for src/api/app.ts.
 */
function urlOf(file) {
  const url = pathToFileURL(file).href;
  if (!url.endsWith('.ts')) return url;
  const compiled = new URL(url.slice(ROOT.length).replace(/\.ts$/, '.js'), `${ROOT}dist/`);
  if (existsSync(compiled)) return compiled.href;
  throw new Error(`${compiled.pathname} is missing; run the tests with \`npm test\`, which builds first`);
}

let lastImport = Promise.resolve();

/**
 * Imports one after another, so that each finds complete modules. It is global, since Jest keeps only the code below.
 */
globalThis.importOutside = (url) => {
  lastImport = lastImport.then(
    () => import(url),
    () => import(url),
  );
  return lastImport;
};

/**
 * A Jest transformer that gives a test file the modules of the service from outside of its own realm. So a worker loads
 * the service once, and not once for each file.
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
