import { rm } from 'node:fs/promises';

// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a global teardown
export default async function globalTeardown() {
  const { postgres, dataDir } = globalThis.testPostgres;
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}
