import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  KeyHistory,
  newCheckpointKey,
  originOf,
  signerOf,
} from '../../src/event-log/transparency/seal/checkpoint-key.js';
import { checkpointText } from '../../src/event-log/transparency/tree/checkpoint.js';
import { signNote } from '../../src/event-log/transparency/tree/signed-note.js';
import { REPOSITORY } from '../support/documents.js';
import { eventually } from '../support/eventually.js';
import { stopAtEnd } from '../support/leftovers.js';
import { addUser, type TestPrincipal } from '../support/principals.js';
import { startService } from '../support/service.js';

const run = promisify(execFile);
const KEY = newCheckpointKey('tunnels.example.com');
let auditor: TestPrincipal;
let folder: string;
let program: string;
let url: string;
let size: number;
/** What the server before the service makes of an answer. */
let changed: (path: string, body: Buffer) => Buffer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-tiles-'));
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  program = join(folder, 'verify-tiles');
  // Debian's packages of libraries for Go are in this folder, so nothing is fetched.
  const go = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: join(folder, 'cache'), HOME: folder };
  const env = { PATH: process.env.PATH, ...go };
  await run('go', ['build', '-o', program, `${REPOSITORY}/docs/verify-tiles.go`], { env });
  const service = await startService({ checkpointKeys: new KeyHistory(KEY) });
  stopAtEnd(() => service.stop());
  auditor = await addUser(service, 'auditor');
  // Two full tiles, and one that is not.
  const grow = async (events: number): Promise<void> => {
    await Promise.all(Array.from({ length: events }, () => service.admin.post('/edges/tcp', {})));
    ({ size } = (await service.pool.query('select size::int from log_heads')).rows[0]);
    await eventually(async () => expect((await newest()).split('\n')[1]).toBe(String(size)));
  };
  const newest = async (): Promise<string> => String((await auditor.client.get('/log/checkpoint')).body);
  await grow(300);
  await writeFile(join(folder, 'checkpoint'), await newest());
  await writeFile(join(folder, 'key'), (await auditor.client.get('/log/key')).body);
  await writeFile(join(folder, 'api-key'), `${auditor.client.token}\n`);
  await grow(300);
  url = await before(service.app.url);
}, 120_000);

async function before(service: string): Promise<string> {
  const server = createServer(async ({ url: path = '', headers }, response) => {
    const answer = await fetch(service + path, { headers: { authorization: headers.authorization ?? '' } });
    response.writeHead(answer.status).end(changed(path, Buffer.from(await answer.arrayBuffer())));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  stopAtEnd(async () => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What the program says, with its exit code. */
async function verified(
  change = (_: string, body: Buffer): Buffer => body,
  kept = 'checkpoint',
): Promise<[number, string]> {
  changed = change;
  const files = ['api-key', 'key', kept].map((name) => join(folder, name));
  return run(program, [url, ...files]).then(
    ({ stdout }) => [0, stdout],
    ({ code, stdout }) => [code, stdout],
  );
}

const flipped = (body: Buffer): Buffer => Buffer.from(body.map((byte, at) => (at === 40 ? byte ^ 1 : byte)));

describe('the libraries of the checksum database of Go, with the API key of an auditor', () => {
  it('check the signature of the log, its growth since a kept checkpoint, and 100 inclusions', async () => {
    expect(await verified()).toEqual([
      0,
      expect.stringMatching(new RegExp(`^OK: the log of ${size} events continues`)),
    ]);
  });

  it.each<[string, (path: string, body: Buffer) => Buffer]>([
    ['one changed byte of a tile', (path, body) => (path === '/log/tile/0/001' ? flipped(body) : body)],
    [
      'a checkpoint that the key has not signed',
      (path, body) => (path === '/log/checkpoint' ? Buffer.from(String(body).replace(/\n\d+\n/, '\n300\n')) : body),
    ],
    [
      'an event with another hash',
      (path, body) =>
        path.startsWith('/log/export') ? Buffer.from(String(body).replace(/("leaf_hash":")\w{8}/, '$100000000')) : body,
    ],
  ])('refuse %s', async (_, change) => {
    expect(await verified(change)).toEqual([1, expect.stringMatching(/^REFUSED: /)]);
  });

  it('refuse a log that does not continue the kept checkpoint, which the same key has signed', async () => {
    const { accountId } = auditor;
    const text = checkpointText({ origin: originOf(KEY, accountId), size: 300, root: Buffer.alloc(32, 7) });
    await writeFile(join(folder, 'other'), signNote(text, signerOf(KEY, accountId)));
    expect(await verified(undefined, 'other')).toEqual([1, expect.stringMatching(/^REFUSED: /)]);
  });
});
