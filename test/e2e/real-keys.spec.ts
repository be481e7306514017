import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Answer } from '../support/api-client.js';
import { type Service, startService } from '../support/service.js';

const run = promisify(execFile);
const KEYS = 1000;
const CLIENTS = 16;

/** ssh-keygen's arguments; RSA is rarer because making one takes a tenth of a second. */
const kindOf = (n: number): string[] => {
  if (n % 20 === 0) return ['-t', 'rsa', '-b', '2048'];
  return n % 2 === 0 ? ['-t', 'ecdsa', '-b', ['256', '384', '521'][n % 3] ?? '256'] : ['-t', 'ed25519'];
};

let service: Service;
let folder: string;
let keys: string[];

beforeAll(async () => {
  service = await startService();
  folder = await mkdtemp(join(tmpdir(), 'tas-keys-'));
  const make = async (n: number): Promise<string> => {
    const file = join(folder, String(n));
    await run('ssh-keygen', ['-q', ...kindOf(n), '-N', '', '-C', `key ${n}`, '-f', file]);
    return readFile(`${file}.pub`, 'utf8');
  };
  keys = await inParallel(4, KEYS, make);
}, 240_000);
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs `work(0..count-1)` with a few workers; each takes the next number when it is done. */
async function inParallel<T>(workers: number, count: number, work: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = new Array(count);
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) results[n] = await work(n);
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return results;
}

it('1,000 different ssh-keygen keys created by 16 parallel clients are listed exactly, and the log has no gap', async () => {
  const created = await inParallel(CLIENTS, KEYS, async (n) => {
    const answer = await service.admin.post('/ssh_credentials', { public_key: keys[n], description: `key ${n}` });
    expect(answer.status).toBe(201);
    return answer.body;
  });

  const listed: { id: string; public_key: string }[] = [];
  for (let next: string | null = '/ssh_credentials'; next !== null; ) {
    const { body }: Answer = await service.admin.get(next);
    listed.push(...body.ssh_credentials);
    next = body.next_page_uri;
  }
  const newestFirst = (a: { id: string }, b: { id: string }) => (a.id < b.id ? 1 : -1);
  expect(listed).toEqual([...created].sort(newestFirst));
  expect(listed.map((c) => c.public_key).sort()).toEqual([...keys].sort());

  const { rows } = await service.pool.query(
    `select count(*)::int as events, max(position)::int as newest, (select max(size)::int from log_heads) as head from events`,
  );
  // The account, its admin and the admin's key come before the credentials.
  expect(rows).toEqual([{ events: KEYS + 3, newest: KEYS + 3, head: KEYS + 3 }]);
}, 120_000);
