import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KeyHistory, newCheckpointKey } from '../../src/event-log/transparency/seal/checkpoint-key.js';
import { REPOSITORY } from '../support/documents.js';
import { eventually } from '../support/eventually.js';
import { runCli } from '../support/process.js';
import { ADMIN_KEY, startService } from '../support/service.js';

let folder: string;
let exported: string;
let checkpoint: string;
let overHttp: string;
let keys: string;
let key: string;

/** The verifier's last line for these files, with its exit code. */
async function verified(files: {
  exported?: string;
  checkpoint?: string;
  key?: string;
  keys?: string;
}): Promise<[string, number]> {
  const contents = Object.entries({ exported, checkpoint, key, ...files });
  const paths = contents.map(([name]) => join(folder, name));
  await Promise.all(contents.map(([, text], i) => writeFile(paths[i] ?? '', text)));
  return run(...paths);
}

/** All that it prints, with its exit code. */
const run = (...paths: string[]): Promise<[string, number]> =>
  new Promise((resolve) => {
    execFile(process.execPath, [`${REPOSITORY}/docs/verify-log.mjs`, ...paths], (error, stdout, stderr) =>
      resolve([(stderr + stdout).trim(), error === null ? 0 : Number(error.code)]),
    );
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-verify-log-'));
  const service = await startService({ checkpointKeys: new KeyHistory(newCheckpointKey('tunnels.example.com')) });
  await service.admin.post('/edges/tcp', { hostports: ['a.example:1'], description: 'ünï \u2028 😀' });
  const { headers } = await service.admin.post('/edges/tcp', { hostports: ['b.example:1'] });
  const sealed = `/log/proof?position=${headers.get('log-position')}`;
  await eventually(async () => expect((await service.admin.get(sealed)).status).toBe(200), 10_000);
  checkpoint = (await service.admin.get('/log/checkpoint')).body;
  key = (await service.admin.get('/log/key')).body;
  await service.admin.post('/edges/tcp', { hostports: ['c.example:1'] });
  exported = (await runCli({ DATABASE_URL: service.databaseUrl }, 'audit', 'export')).stdout;
  const lines = async (path: string): Promise<string> => {
    const headers = { authorization: `Bearer ${ADMIN_KEY}`, accept: 'application/x-ndjson' };
    return (await fetch(service.app.url + path, { headers })).text();
  };
  overHttp = await lines('/log/export');
  keys = await lines('/events?type=api_key_created.v1');
  await service.stop();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const lines = (): string[] => exported.trimEnd().split('\n');
const ofAccount = (): string => key.split('+')[0] ?? '';
const other = 'tunnels.example.com/ac_000000000000000000000000000';

const hide = (text: string, position: number): string => {
  const at = text.trimEnd().split('\n');
  const { leaf_hash } = JSON.parse(at[position - 1] ?? '');
  at[position - 1] = JSON.stringify({ position, leaf_hash, hidden: true });
  return `${at.join('\n')}\n`;
};

describe('GET /log/export', () => {
  it('is what `audit export` writes, but for events with the hash of an API key', () => {
    const theirs = overHttp.trimEnd().split('\n');
    expect(theirs).toHaveLength(lines().length);
    const hidden = theirs.flatMap((line, n) => (line === lines()[n] ? [] : [n + 1]));
    const created = keys
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).logposition);
    expect(hidden).toEqual(created);
    expect(hidden.length).toBeGreaterThan(0);
    for (const position of hidden) {
      const { leaf_hash } = JSON.parse(lines()[position - 1] ?? '');
      expect(JSON.parse(theirs[position - 1] ?? '')).toEqual({ position, leaf_hash, hidden: true });
    }
    expect(overHttp).not.toContain('token_hash');
  });

  it('is verified by what HTTP gives alone, and says what it did not cover', async () => {
    const [said, code] = await verified({ exported: overHttp, keys });
    expect(code).toBe(0);
    expect(said).toMatch(
      /^OK: the first 5 of 6 events.*\nhidden, with their hashes alone: .*\nnot covered by the checkpoint: 1 newer$/,
    );
  });

  it.each<[string, () => string, RegExp]>([
    [
      'a changed byte of a line that is not hidden',
      () => overHttp.replace('127.0.0.1', '192.0.2.1'),
      /does not have its hash$/,
    ],
    [
      'a line hidden that should not be',
      () => hide(overHttp, lines().length),
      /is hidden, and is no creation of an API key$/,
    ],
    [
      'a hidden line with another hash',
      () => overHttp.replace(/("leaf_hash":")(\w)(\w+","hidden")/, (_, a, b, c) => `${a}${b === '0' ? '1' : '0'}${c}`),
      /are not those that were signed$/,
    ],
  ])('%s is refused', async (_, changed, said) => {
    expect(changed()).not.toBe(overHttp);
    expect(await verified({ exported: changed(), keys })).toEqual([expect.stringMatching(said), 1]);
  });
});

describe('docs/verify-log.mjs', () => {
  it('finds a log in order that has grown since its checkpoint', async () => {
    expect(await verified({})).toEqual([
      expect.stringMatching(/^OK: the first 5 of 6 events are those that tunnels\.ex/),
      0,
    ]);
  });

  it.each<[string, () => Parameters<typeof verified>[0], RegExp]>([
    ['an edited event', () => ({ exported: exported.replace('127.0.0.1', '192.0.2.1') }), /does not have its hash$/],
    [
      'a missing event',
      () => ({ exported: `${lines().toSpliced(2, 1).join('\n')}\n` }),
      /^REFUSED: line 3 has position 4$/,
    ],
    [
      'a lost tail',
      () => ({ exported: `${lines().slice(0, 4).join('\n')}\n` }),
      /has 4 events, and the checkpoint covers 5$/,
    ],
    ['a cut line', () => ({ exported: exported.slice(0, -9) }), /ends in the middle of a line$/],
    [
      'another root',
      () => ({ checkpoint: checkpoint.replace('\n5\n', '\n4\n') }),
      /signature of the checkpoint is wrong$/,
    ],
    ['another account', () => ({ checkpoint: checkpoint.replaceAll(ofAccount(), other) }), /not signed by this key$/],
    ['another key', () => ({ key: key.replace(ofAccount(), other) }), /the key is damaged$/],
    ['no key', () => ({ key: 'x' }), /the key is no key$/],
    ['a cut signature', () => ({ checkpoint: checkpoint.slice(0, -90) }), /^REFUSED: the signature of the checkpoint/],
    [
      'data that is no text',
      () => ({ exported: exported.replace(/"data":"/, '"data":1,"x":"') }),
      /line 1 is no event$/,
    ],
    [
      'a position that would control the terminal',
      () => ({ exported: exported.replace('"position":1', '"position":"\\r\\u001b[2KOK: \\u009b8m"') }),
      /^REFUSED: line 1 has position "\\r\\u001b\[2KOK: %C2%9B8m"$/,
    ],
    [
      'an account that would',
      () => ({ exported: exported.replace(/"account_id":"/, '"account_id":"\\r\\u009b8m') }),
      /^REFUSED: line 1 is of account %0D%C2%9B8mac_\w+$/,
    ],
  ])('refuses %s', async (_, files, said) => {
    expect(await verified(files())).toEqual([expect.stringMatching(said), 1]);
  });

  it('tells a mistake of its caller by another exit code, without a stack', async () => {
    expect(await run()).toEqual(['usage: node verify-log.mjs EXPORT CHECKPOINT KEY [KEYS]', 2]);
    const [checkpointFile, keyFile] = [join(folder, 'checkpoint'), join(folder, 'key')];
    for (const files of [
      ['none', checkpointFile, keyFile],
      ['none', checkpointFile, 'none'],
    ])
      expect(await run(...files)).toEqual([
        expect.stringMatching(/^ENOENT: no such file or directory, open 'none'$/),
        2,
      ]);
  });
});
