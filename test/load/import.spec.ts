import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { newPublicKey } from '../support/keys.js';
import { addAccount } from '../support/principals.js';
import { startCli } from '../support/process.js';
import { startService } from '../support/service.js';

const LINES = 2_000;

it('an import that is killed half-way and run again makes nothing twice, and changes nothing the third time', async () => {
  const service = await startService();
  const folder = await mkdtemp(join(tmpdir(), 'tas-import-'));
  const { accountId, client } = await addAccount(service);
  const count = async (sql: string): Promise<number> =>
    (await service.pool.query(`select count(*)::int as n from ${sql} and account_id = $1`, [accountId])).rows[0].n;
  const file = join(folder, 'authorized_keys');
  const lines = Array.from({ length: LINES }, (_, n) => `permitlisten="${1_000 + n}" ${newPublicKey(`device ${n}`)}\n`);
  await writeFile(file, lines.join(''));
  const settings = { TUNNEL_ACCESS_URL: client.url, TUNNEL_ACCESS_KEY: client.token ?? '' };
  const run = () => startCli(settings, 'import', 'authorized-keys', file, '--yes');
  try {
    const killed = run();
    await eventually(async () => expect(await count('ssh_credentials where true')).toBeGreaterThan(LINES / 2), 240_000);
    killed.child.kill('SIGKILL');
    await killed.ended;
    const { code, stdout } = await run().ended;
    const there = stdout.match(/\tthere\t/g)?.length ?? 0;
    expect([code, there >= LINES / 2, there < LINES]).toEqual([0, true, true]);
    const made = "events where type like 'ssh_credential_created%'";
    expect([await count('ssh_credentials where true'), await count(made)]).toEqual([LINES, LINES]);
    const events = await count('events where true');
    expect((await run().ended).stdout.match(/\tthere\t/g)).toHaveLength(LINES);
    expect(await count('events where true')).toBe(events);
  } finally {
    await rm(folder, { recursive: true });
    await service.stop();
  }
}, 600_000);
