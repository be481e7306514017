import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { ApiClient } from '../support/api-client.js';
import { newPublicKey } from '../support/keys.js';
import { runCli, stopMain } from '../support/process.js';
import { emptyDatabase } from '../support/service.js';
import { dataDir, start, statusOf, useStarts } from '../support/starts.js';

jest.setTimeout(300_000);

describe('the embedded database', () => {
  useStarts();

  it('moves to a PostgreSQL of one’s own and back, with every key and row', async () => {
    const target = await emptyDatabase();
    const restore = (from: string) => runCli({ DATABASE_URL: target.url }, 'restore', from);
    const key = 'the-key-of-the-embedded-one';
    const main = start({ BOOTSTRAP_API_KEY: key });
    await new ApiClient(await main.url, key).post('/ssh_credentials', { public_key: newPublicKey() });
    const out = join(dataDir(), '..', 'out.backup');
    expect(await runCli({ DATA_DIR: dataDir() }, 'backup', out)).toMatchObject({ code: 0 });
    const beside = await runCli({ DATA_DIR: dataDir() }, 'restore', out);
    expect([beside.code, beside.stderr]).toEqual([3, expect.stringMatching(/is in use by another instance/)]);
    await stopMain(main);

    expect(await restore(out)).toMatchObject({ code: 0 });
    const external = start({ DATABASE_URL: target.url });
    expect(await statusOf(await external.url, key)).toBe(200);
    await stopMain(external);
    const back = join(dataDir(), '..', 'back.backup');
    expect(await runCli({ DATABASE_URL: target.url }, 'backup', back)).toMatchObject({ code: 0 });
    const moved = { DATA_DIR: `${dataDir()}-moved` };
    expect(await runCli(moved, 'restore', back)).toMatchObject({ code: 0 });
    const again = start(moved);
    const listed = await new ApiClient(await again.url, key).get('/ssh_credentials');
    expect([listed.status, listed.body.ssh_credentials.length]).toEqual([200, 1]);
    await stopMain(again);
    await target.drop();
  });
});
