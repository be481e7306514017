import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from '@jest/globals';
import { blocksOf } from './support/documents.js';
import { ADMIN_KEY, startService } from './support/service.js';
import { Terminal } from './support/terminal.js';

it('docs/traffic-policies.md can be followed word by word', async () => {
  const service = await startService();
  const cwd = await mkdtemp(join(tmpdir(), 'tas-traffic-policies-'));
  const terminal = Terminal.open({ cwd, env: { PATH: process.env.PATH ?? '', HOME: cwd, API: service.app.url } });
  // The terminal of the tour.
  await terminal.run(`AUTH="Authorization: Bearer ${ADMIN_KEY}"; JSON="Content-Type: application/json"
    field() { node -p "JSON.parse(require('fs').readFileSync(0)).$1"; }`);
  await terminal.runAll(blocksOf('traffic-policies'));
  await terminal.close();
  await service.stop();
  await rm(cwd, { recursive: true });
});
