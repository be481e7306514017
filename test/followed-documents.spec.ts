import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { readConfig } from '../src/api/config/config.js';
import { parseSettingsFile } from '../src/api/config/settings-file.js';
import { blocksIn, blocksOf } from './support/documents.js';
import { ADMIN_KEY, startService } from './support/service.js';
import { Terminal } from './support/terminal.js';

it.each([
  ['reservations', 2, blocksOf('reservations')],
  ['traffic-policies', 0, blocksOf('traffic-policies')],
] as const)(
  'docs/%s.md can be followed word by word, with the pools that it names: %d',
  async (page, pools, blocks) => {
    const [settings] = blocksIn(`docs/${page}.md`).filter(({ language }) => language === 'dotenv');
    const { addressPools } = readConfig(Object.fromEntries(parseSettingsFile(settings?.text ?? '')));
    expect(addressPools).toHaveLength(pools);
    const service = await startService({ addressPools });
    const cwd = await mkdtemp(join(tmpdir(), 'tas-document-'));
    const terminal = Terminal.open({ cwd, env: { PATH: process.env.PATH ?? '', HOME: cwd, API: service.app.url } });
    // The terminal of the tour.
    await terminal.run(`AUTH="Authorization: Bearer ${ADMIN_KEY}"; JSON="Content-Type: application/json"
    field() { node -p "JSON.parse(require('fs').readFileSync(0)).$1"; }`);
    await terminal.runAll(blocks);
    await terminal.close();
    await service.stop();
    await rm(cwd, { recursive: true });
  },
);
