import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { ApiClient } from '../support/api-client.js';
import { blocksOf, REPOSITORY } from '../support/documents.js';
import { newPublicKey } from '../support/keys.js';
import { stopMain } from '../support/process.js';
import { emptyDatabase } from '../support/service.js';
import { dataDir, start, statusOf, useStarts } from '../support/starts.js';
import { Terminal } from '../support/terminal.js';

jest.setTimeout(300_000);

describe('the embedded database', () => {
  useStarts();

  it('moves to a PostgreSQL of one’s own and back with the commands of docs/backup.md, with every key and row', async () => {
    const target = await emptyDatabase();
    const home = join(dataDir(), '..');
    const moved = { DATA_DIR: `${dataDir()}-moved` };
    const key = 'the-key-of-the-embedded-one';
    const main = start({ BOOTSTRAP_API_KEY: key });
    await new ApiClient(await main.url, key).post('/ssh_credentials', { public_key: newPublicKey() });
    await stopMain(main);

    const env = { DATA_DIR: dataDir(), NEW_DATABASE_URL: target.url, NEW_DATA_DIR: moved.DATA_DIR };
    const terminal = Terminal.open({ cwd: REPOSITORY, env: { PATH: process.env.PATH ?? '', HOME: home, ...env } });
    const [off, back] = blocksOf('moving');
    await terminal.runAll(off === undefined ? [] : [off]);
    const external = start({ DATABASE_URL: target.url });
    expect(await statusOf(await external.url, key)).toBe(200);
    await stopMain(external);
    await terminal.runAll(back === undefined ? [] : [back]);
    expect(existsSync(join(home, 'tunnel-access-2.ndjson'))).toBe(true);
    const again = start(moved);
    const listed = await new ApiClient(await again.url, key).get('/ssh_credentials');
    expect([listed.status, listed.body.ssh_credentials.length]).toEqual([200, 1]);
    await stopMain(again);
    await target.drop();
  });
});
