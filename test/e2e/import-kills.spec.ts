import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { newPublicKey } from '../support/keys.js';
import { addAccount } from '../support/principals.js';
import { startCli } from '../support/process.js';
import { type Service, startService } from '../support/service.js';

/** IMPORT_LINES=20000 takes a hundred times as long. */
const LINES = Number(process.env.IMPORT_LINES ?? 200);
const PATIENCE_MS = 300_000 + LINES * 100;

let service: Service;
let folder: string;
beforeAll(async () => {
  service = await startService();
  folder = await mkdtemp(join(tmpdir(), 'tas-import-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await service.stop();
});

const numbers = Array.from({ length: LINES }, (_, n) => n);
const written = async (name: string, lineOf: (n: number) => string): Promise<string> => {
  await writeFile(join(folder, name), numbers.map((n) => `${lineOf(n)}\n`).join(''));
  return join(folder, name);
};

/** Each writes its source, and gives the words that import it. */
const SOURCES: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  'authorized-keys': async () => [
    await written('authorized_keys', (n) => `permitlisten="${1_000 + n}" ${newPublicKey(`device ${n}`)}`),
  ],
  credentials: async () => [
    await written('ndjson', (n) => JSON.stringify({ public_key: newPublicKey(), acl: [`bind:device=${n}`] })),
  ],
  frp: async () => {
    const keys = join(folder, 'keys');
    await mkdir(keys);
    for (const n of numbers) await writeFile(join(keys, `proxy${n}.pub`), newPublicKey());
    const proxy = (n: number) =>
      `[[proxies]]\nname = "proxy${n}"\ntype = "tcp"\nlocalPort = 22\nremotePort = ${20_000 + n}`;
    return [await written('frpc.toml', proxy), '--keys', keys];
  },
};
const MADE = {
  'authorized-keys': ['ssh_credentials'],
  credentials: ['ssh_credentials'],
  frp: ['ssh_credentials', 'tunnel_groups', 'tcp_edges'],
};

it.each(Object.entries(MADE))(
  'an import of %s that is killed half-way and run again makes nothing twice, and changes nothing the third time',
  async (kind, tables) => {
    const { accountId, client } = await addAccount(service);
    const count = async (table: string): Promise<number> =>
      (await service.pool.query(`select count(*)::int as n from ${table} where account_id = $1`, [accountId])).rows[0]
        .n;
    const words = (await SOURCES[kind]?.()) ?? [];
    const settings = { TUNNEL_ACCESS_URL: client.url, TUNNEL_ACCESS_KEY: client.token ?? '' };
    const run = () => startCli(settings, 'import', kind, ...words, '--yes');
    const before = await count('events');
    const killed = run();
    await eventually(async () => expect(await count('ssh_credentials')).toBeGreaterThan(LINES / 2), PATIENCE_MS);
    killed.child.kill('SIGKILL');
    await killed.ended;
    const { code, stdout } = await run().ended;
    const there = stdout.match(/\tthere\t/g)?.length ?? 0;
    expect([code, there > LINES / 3, there < LINES]).toEqual([0, true, true]);
    for (const table of tables) expect([table, await count(table)]).toEqual([table, LINES]);
    // Each row has one event: nothing was made and deleted.
    expect(await count('events')).toBe(before + LINES * tables.length);
    expect((await run().ended).stdout.match(/\tthere\t/g)).toHaveLength(LINES);
    expect(await count('events')).toBe(before + LINES * tables.length);
  },
  PATIENCE_MS * 2,
);
