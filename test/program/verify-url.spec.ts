import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { KeyHistory, newCheckpointKey, signerOf } from '../../src/event-log/transparency/seal/checkpoint-key.js';
import { COSIGNATURE, cosignNote, signerKey, verifierText } from '../../src/event-log/transparency/tree/signed-note.js';
import { ExportedLog } from '../../src/operator/audit/exported-log.js';
import { ServiceApi } from '../../src/operator/http/service-api.js';
import { ApiClient } from '../support/api-client.js';
import { eventually } from '../support/eventually.js';
import { stopAtEnd } from '../support/leftovers.js';
import { addUser, type TestPrincipal } from '../support/principals.js';
import { runCli } from '../support/process.js';
import { type Service, startService } from '../support/service.js';

const KEY = newCheckpointKey('tunnels.example.com');
const WITNESS = signerKey('witness.example.org', newCheckpointKey('').seed, COSIGNATURE);
let service: Service;
let auditor: TestPrincipal;
let folder: string;
let url: string;
/** The body that the service between gives for an answer. Undefined: cuts the connection after half of it. */
let changed: (path: string, body: string) => string | undefined = (_, body) => body;
let asked: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-verify-url-'));
  service = await startService({ checkpointKeys: new KeyHistory(KEY) });
  auditor = await addUser(service, 'auditor');
  for (let n = 0; n < 5; n += 1) await service.admin.post('/edges/tcp', { hostports: [`h${n}.example:1`] });
  await addUser(service, 'member');
  await keep('checkpoint', await sealed());
  const key = await auditor.client.get('/log/key');
  await keep('key', key.body);
  await keep('api-key', auditor.client.token ?? '');
  const { keyId } = await addUser(service, 'member');
  // Its stream goes on after the event that is hidden.
  await service.admin.delete(`/api_keys/${keyId}`);
  await sealed();
  url = await between();
});
afterEach(() => {
  changed = (_, body) => body;
  asked = [];
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

const path = (name: string): string => join(folder, name);
const keep = (name: string, text: string): Promise<void> => writeFile(path(name), text);

const kept = (): Promise<string> => readFile(path('checkpoint'), 'utf8');
const sizeOf = (note: string): number => Number(note.split('\n')[1]);

/** A checkpoint of all that is in the log now. */
async function sealed(): Promise<string> {
  const { headers } = await service.admin.post('/edges/tcp', {});
  const proof = `/log/proof?position=${headers.get('log-position')}`;
  await eventually(async () => expect((await auditor.client.get(proof)).status).toBe(200), 10_000);
  return (await auditor.client.get('/log/checkpoint')).body;
}

/** A server before the service that may change what it answers. */
async function between(): Promise<string> {
  const server = createServer(async (request, response) => {
    const headers = { authorization: request.headers.authorization ?? '', accept: request.headers.accept ?? '' };
    const answer = await fetch(service.app.url + request.url, { headers });
    const body = await answer.text();
    asked.push(request.url ?? '');
    const given = changed(request.url ?? '', body);
    response.writeHead(answer.status);
    if (given !== undefined) response.end(given);
    else response.write(body.slice(0, body.length / 2), () => response.destroy());
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  stopAtEnd(async () => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const verify = (...args: string[]) =>
  runCli({ DATABASE_URL: 'postgres://127.0.0.1:1/none' }, 'audit', 'verify', '--url', url, ...args);
const verifyAsAuditor = (...args: string[]) => verify('--api-key-file', path('api-key'), ...args);
const held = (): string[] => ['--key', path('key'), '--checkpoint', path('checkpoint')];
const exportOf = (change: (lines: string[]) => string[]) => (asks: string, body: string) =>
  asks.startsWith('/log/export') && body !== '' ? `${change(body.trimEnd().split('\n')).join('\n')}\n` : body;
const hide = (line = ''): string => {
  const { position, leaf_hash } = JSON.parse(line);
  return JSON.stringify({ position, leaf_hash, hidden: true });
};
const indexOf = (lines: readonly string[], type: string): number => lines.findIndex((line) => line.includes(type));

describe('audit verify --url', () => {
  it('finds a log in order with the key of an auditor, without a database, and lists what is hidden', async () => {
    const { code, stdout, stderr } = await verifyAsAuditor(...held());
    expect([code, stdout]).toEqual([0, '']);
    const feed = await auditor.client.get('/events?type=api_key_created.v1&limit=1000');
    const positions = feed.body.events.map((event: { logposition: number }) => event.logposition);
    expect(positions.length).toBeGreaterThan(3);
    expect(stderr).toContain(`\nhidden, with their hashes alone: ${positions.join(', ')}\n`);
    expect(stderr).toMatch(/\n\d+ events of http:\S+ in \S+ s: all in order\n/);
    expect(stderr).not.toContain('the key ');
  });

  it('says what it trusts since it comes from the same URL, and what no checkpoint covers', async () => {
    const { headers } = await service.admin.post('/edges/tcp', {});
    const end = Number(headers.get('log-position'));
    const note = (await auditor.client.get('/log/checkpoint')).body as string;
    changed = (asks, body) => (asks.startsWith('/log/checkpoint') ? note : body);
    const size = sizeOf(note);
    const { code, stdout, stderr } = await verifyAsAuditor();
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain(`the key ${(await auditor.client.get('/log/key')).body.trim()} is trusted, since`);
    expect(stderr).toContain(`positions 1 to ${size}: the checkpoint that covers them is trusted, since it comes from`);
    if (end > size) expect(stderr).toContain(`positions ${size + 1} to ${end}: covered by no checkpoint`);
    const after = await verifyAsAuditor(...held());
    expect(after.stderr).toContain(
      `positions ${sizeOf(await kept()) + 1} to ${size}: the checkpoint that covers them is trusted`,
    );
  });

  it.each<[what: string, change: (lines: string[]) => string[], said: RegExp]>([
    [
      'a changed byte of a line that is not hidden',
      (lines) => lines.map((line) => line.replace('h2.example', 'h9.example')),
      /position \d+: its leaf_hash is not the hash of the event\n/,
    ],
    [
      'a line hidden that should not be',
      (lines) => lines.with(indexOf(lines, 'h2.example'), hide(lines[indexOf(lines, 'h2.example')])),
      /^\S+\tposition \d+: it is hidden, and is no event of a type that may be\n$/,
    ],
    [
      'a hidden line with another hash',
      (lines) => lines.map((line) => line.replace(/("leaf_hash":")\w{8}(.*"hidden":true)/, '$100000000$2')),
      /their events do not make the checkpoint of \d+ events in \S+\/checkpoint\n/,
    ],
    [
      'a hidden line at the beginning',
      (lines) => lines.with(0, hide(lines[0])),
      /line 1: the first event is hidden, and no log begins with such an event/,
    ],
    ['a missing line', (lines) => lines.toSpliced(2, 1), /position 3: missing\n/],
    [
      'a line with a further field',
      (lines) => lines.with(4, lines[4]?.replace('}', ',"hidden":true}') ?? ''),
      /line 5: .*; from there on nothing was checked\n$/,
    ],
  ])('refuses %s', async (_, change, said) => {
    changed = exportOf(change);
    expect(await verifyAsAuditor(...held())).toMatchObject({ code: 1, stdout: expect.stringMatching(said) });
  });

  it('refuses a log without its tail', async () => {
    const short = exportOf((lines) => lines.slice(0, 3));
    changed = (asks, body) => (asks.includes('after=3&') ? '' : short(asks, body));
    expect(await verifyAsAuditor(...held())).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/the log has 3 events, but the checkpoint in .*: its tail is lost\n/),
    });
  });

  it('refuses an event of another place in the stream of a hidden one', async () => {
    changed = (asks, body) =>
      asks.startsWith('/events') ? body.replaceAll('"streamversion":1', '"streamversion":2') : body;
    expect(await verifyAsAuditor(...held())).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /position \d+: its stream_version does not follow the previous one of its stream\n/,
      ),
    });
  });

  it('refuses a newest checkpoint that the key has not signed, whatever the kept one says', async () => {
    changed = (asks, body) => (asks.startsWith('/log/checkpoint') ? body.replace(/\n\d+\n/, '\n3\n') : body);
    const { code, stdout } = await verifyAsAuditor(...held());
    expect([code, stdout]).toEqual([1, expect.stringContaining('checkpoint: its signature is wrong\n')]);
  });

  it('demands the signature of a witness of the kept checkpoint alone', async () => {
    const log = signerOf(KEY, auditor.accountId);
    await keep('cosigned', cosignNote(await kept(), log, WITNESS, 1_700_000_000));
    await keep('witness-key', verifierText(WITNESS));
    const keys = ['--key', path('key'), '--key', path('witness-key')];
    expect(await verifyAsAuditor(...keys, '--checkpoint', path('cosigned'))).toMatchObject({ code: 0, stdout: '' });
    expect(await verifyAsAuditor(...keys, '--checkpoint', path('checkpoint'))).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`${path('checkpoint')}: its signature is wrong\n`),
    });
  });

  it('goes on after answers that were cut, within a line and at its end', async () => {
    let cuts = 0;
    changed = (asks, body) => {
      if (!asks.startsWith('/log/export') || cuts === 3) return body;
      cuts += 1;
      if (cuts === 1) return undefined;
      return cuts === 2 ? body.slice(0, -9) : `${body.split('\n').slice(0, 4).join('\n')}\n`;
    };
    const { code, stdout, stderr } = await verifyAsAuditor(...held());
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain(' gives no events: the connection was closed before the end of the answer; asking again');
    expect(stderr).toContain(`${url} answers again\n`);
    expect(asked.filter((asks) => asks.startsWith('/log/export')).at(-1)).toContain('after=4&');
  });

  it.each<[string, () => string[], number, RegExp]>([
    ['no file of an API key', () => ['--key', path('key')], 2, /--url and --api-key-file need each other/],
    [
      'a database beside it',
      () => ['--api-key-file', path('api-key'), '--account', 'ac_x'],
      2,
      /cannot be used with option '--account <id>'/,
    ],
    [
      'a file beside it',
      () => ['--api-key-file', path('api-key'), '--file', path('key')],
      2,
      /cannot be used with option '--file <export>'/,
    ],
    ['a key that may not read the log', () => ['--api-key-file', path('member')], 3, /answers 403 .*check the API key/],
  ])('refuses %s by the exit code and a sentence', async (_, args, code, said) => {
    const member = await addUser(service, 'member');
    await keep('member', member.client.token ?? '');
    expect(await verify(...args())).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(said) });
  });

  it('names another account than that of the kept checkpoint', async () => {
    const note = (await kept()).replaceAll(auditor.accountId, 'ac_000000000000000000000000000');
    await keep('foreign', note);
    expect(await verifyAsAuditor('--checkpoint', path('foreign'))).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('belongs to another log, that of account ac_0'),
    });
  });
});

describe('audit verify --file with an export over HTTP', () => {
  beforeAll(async () => {
    const headers = { authorization: `Bearer ${auditor.client.token}` };
    await keep('export', await (await fetch(`${service.app.url}/log/export`, { headers })).text());
  });

  it('checks all but what is hidden, and says that', async () => {
    const { code, stdout, stderr } = await runCli({}, 'audit', 'verify', '--file', path('export'), ...held());
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toMatch(/hidden, with their hashes alone: \d+, .*\na file does not say which events may be hidden/);
  });

  it('is not imported, with a sentence that says why', async () => {
    const { code, stderr } = await runCli({ DATABASE_URL: service.databaseUrl }, 'audit', 'import', path('export'));
    expect([code, stderr]).toEqual([3, expect.stringMatching(/line \d+: the event is hidden, as GET .* answers it/)]);
  });
});

describe('the log over HTTP', () => {
  it('gives every line once in pages that follow each other, and ends at the end of a log that grows', async () => {
    const api = new ServiceApi(new URL(url), auditor.client.token ?? '');
    const log = new ExportedLog(api, 3, { name: url, report: () => undefined, maxAwayMs: 1_000 });
    const client = new ApiClient(service.app.url, service.admin.token);
    // Pages of two lines: the limit of the command would need a log of thousands.
    changed = (asks, body) => (asks.startsWith('/log/export') ? `${body.split('\n').slice(0, 2).join('\n')}\n` : body);
    const positions: number[] = [];
    for await (const lines of log.lines()) {
      positions.push(...lines.map((line) => JSON.parse(line).position));
      if (positions.length < 8) await client.post('/edges/tcp', {});
    }
    expect(positions).toEqual(positions.map((_, index) => index + 1));
    expect(positions.length).toBeGreaterThanOrEqual(3);
  });
});
