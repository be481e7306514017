import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type CheckpointKey,
  KeyHistory,
  keyText,
  newCheckpointKey,
  originOf,
  signerOf,
} from '../../src/event-log/transparency/seal/checkpoint-key.js';
import { seal } from '../../src/event-log/transparency/seal/seal.js';
import { SealedLogs } from '../../src/event-log/transparency/seal/sealed-logs.js';
import { checkpointText } from '../../src/event-log/transparency/tree/checkpoint.js';
import {
  COSIGNATURE,
  cosignNote,
  signerKey,
  signNote,
  verifierText,
} from '../../src/event-log/transparency/tree/signed-note.js';
import { GrowingTree } from '../../src/event-log/transparency/tree/tiles.js';
import { REPOSITORY } from '../support/documents.js';
import { runCli, runCliOn } from '../support/process.js';
import { type Service, startService } from '../support/service.js';
import { HASH_ANEW, whileTampered } from '../support/tampering.js';

const KEY = newCheckpointKey('tunnels.example.com');
const WITNESS = signerKey('witness.example.org', newCheckpointKey('').seed, COSIGNATURE);
/** Events of the log, and the sizes of the checkpoints that an auditor has kept. */
const SIZE = 24;
const KEPT = [8, 16];

let service: Service;
let account: string;
let folder: string;
let exported: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-verify-'));
  // Without a key: the only checkpoints are those that were kept elsewhere.
  service = await startService();
  const ids: string[] = [];
  const head = async () => (await service.pool.query('select size::int from log_heads')).rows[0].size;
  while ((await head()) < SIZE - 4) ids.push((await service.admin.post('/edges/tcp', {})).body.id);
  for (const id of ids.slice(0, 2)) await service.admin.patch(`/edges/tcp/${id}`, { description: 'ünï' });
  for (const id of ids.slice(0, 2)) await service.admin.delete(`/edges/tcp/${id}`);
  account = (await service.pool.query('select account_id from accounts')).rows[0].account_id;
  for (const size of KEPT) await keep(`kept-${size}`, await noteOf(size));
  await keep('log-key', verifierText(signerOf(KEY, account)));
  await keep('witness-key', verifierText(WITNESS));
  exported = (await runCli(settings(), 'audit', 'export')).stdout;
  await keep('export', exported);
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

const settings = () => ({ DATABASE_URL: service.databaseUrl });
const path = (name: string): string => join(folder, name);
const keep = (name: string, text: string): Promise<void> => writeFile(path(name), text);

async function noteOf(size: number, key: CheckpointKey = KEY): Promise<string> {
  const { rows } = await service.pool.query('select leaf_hash from events order by position limit $1', [size]);
  const tree = new GrowingTree(0, []);
  for (const { leaf_hash } of rows) tree.add(leaf_hash);
  const text = checkpointText({ origin: originOf(key, account), size, root: tree.root() });
  const note = signNote(text, signerOf(key, account));
  return cosignNote(note, signerOf(key, account), WITNESS, 1_700_000_000);
}

/** The public key of another account, under which the same secret key signs. */
const elsewhere = (key: CheckpointKey): string => verifierText(signerOf(key, 'ac_000000000000000000000000000'));

const held = (): string[] => KEPT.flatMap((size) => ['--checkpoint', path(`kept-${size}`)]);
const online = (...args: string[]) => runCli(settings(), 'audit', 'verify', '--key', path('log-key'), ...args);
/** Without a database: DATABASE_URL names a server that is not there. */
const offline = (...args: string[]) =>
  runCli({ DATABASE_URL: 'postgres://127.0.0.1:1/none' }, 'audit', 'verify', '--key', path('log-key'), ...args);
const faultsIn = (stdout: string): string[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t')[1] ?? '')
    .sort();

const NOT_MADE = (from: number, to: number): string =>
  `positions ${from} to ${to}: their events do not make the checkpoint of ${to} events in FILE-${to}`;

/** What a superuser does, and what both checks say of it. */
const TAMPERINGS: readonly (readonly [what: string, sql: string, said: readonly unknown[]])[] = [
  [
    'an event that was edited and hashed anew',
    `update events set metadata = replace(metadata, '127.0.0.1', '192.0.2.1') where position = 12; ${HASH_ANEW}`,
    [NOT_MADE(9, 16)],
  ],
  ['an event that is missing', 'delete from events where position = 12', ['position 12: missing', NOT_MADE(9, 16)]],
  [
    'a tail that was removed, with the head set back',
    'delete from events where position > 12; update log_heads set size = 12',
    ['the log has 12 events, but the checkpoint in FILE-16 is of 16: its tail is lost'],
  ],
  [
    'an event of an unknown type that would control the terminal, hashed anew',
    `update events set type = E'tcp_edge_painted\\r\\u009b8m' where position = 22; ${HASH_ANEW}`,
    [
      expect.stringMatching(
        /^position 22: this version of the service does not know events of type tcp_edge_painted\\u000d\\u009b8m in/,
      ),
    ],
  ],
];

describe('audit verify --checkpoint, and --file with an export', () => {
  it('hold a log that has grown since to what was kept, and find it in order', async () => {
    const checks = [await online(...held()), await offline('--file', path('export'), ...held())];
    for (const { code, stdout, stderr } of checks) {
      expect([code, stdout]).toEqual([0, '']);
      for (const size of KEPT)
        expect(stderr).toContain(`is held to the checkpoint of ${size} events in ${path(`kept-${size}`)}`);
      expect(stderr).toMatch(new RegExp(`^${SIZE} events of (1 accounts|a file) in \\S+ s: all in order$`, 'm'));
    }
    expect(checks[1]?.stderr).toContain('a file has no schema, rights, tiles and records');
    expect(await runCliOn(exported, {}, 'audit', 'verify', '--file', '-')).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /signatures of checkpoints are not checked[\s\S]*the log was held to no checkpoint/,
      ),
    });
  });

  it.each(TAMPERINGS)('say the same of %s', async (_, sql, said) => {
    await whileTampered(service.databaseUrl, sql, async () => {
      const atDatabase = await online(...held());
      const { stdout } = await runCli(settings(), 'audit', 'export');
      await keep('tampered', stdout);
      const atFile = await offline('--file', path('tampered'), ...held());
      expect([atDatabase.code, atFile.code]).toEqual([1, 1]);
      const named = faultsIn(atFile.stdout).map((fault) => fault.replace(path('kept'), 'FILE'));
      expect(named).toEqual(said.toSorted());
      expect(faultsIn(atDatabase.stdout)).toEqual(faultsIn(atFile.stdout));
    });
  });

  it('say that a log is lost of which nothing is left', async () => {
    await whileTampered(service.databaseUrl, 'delete from events; delete from log_heads', async () => {
      expect(await online(...held())).toMatchObject({
        code: 1,
        stdout: KEPT.map(
          (size) =>
            `${account}\tthere is no log, but the checkpoint in ${path(`kept-${size}`)} is of ${size} events: the log is lost\n`,
        ).join(''),
      });
    });
  });

  it.each<[what: string, text: () => string, said: RegExp]>([
    [
      'a torn last line',
      () => exported.slice(0, -9),
      /\tline 24: the file ends in the middle of this line; from there on/,
    ],
    [
      'a line that is no event',
      () => exported.replace('{"account_id"', '{"account"'),
      /\tline 1: the field account_id is missing/,
    ],
    [
      'an export that does not begin at position 1',
      () => exported.slice(exported.indexOf('\n') + 1),
      /\tline 1: the log begins at position 2; export it from its beginning, without --after\n/,
    ],
    [
      'the logs of several accounts',
      () =>
        exported +
        exported.replaceAll(account, 'ac_000000000000000000000000000').split('\n').slice(0, 1).join('') +
        '\n',
      /\tline 25: its account is ac_0{27}, but that of the first line is ac_/,
    ],
    ['lines twice', () => exported + exported, /\tline 25: its position is 1, but an earlier line has position 24\n/],
    ['an empty file', () => '', /^the file\tthe file is empty\n/],
  ])('tell %s', async (_, text, said) => {
    await keep('broken', text());
    expect(await offline('--file', path('broken'))).toMatchObject({ code: 1, stdout: expect.stringMatching(said) });
  });

  it('demand the signature of the log, and of each witness whose key is given', async () => {
    const note = await noteOf(16);
    const wrong = '\tthe checkpoint of 16 events in FILE: its signature is wrong\n';
    const check = async (text: string, ...keys: string[]) => {
      await keep('signed', text);
      const args = keys.flatMap((key) => ['--key', key]);
      const { code, stdout } = await runCli(
        {},
        'audit',
        'verify',
        '--file',
        path('export'),
        '--checkpoint',
        path('signed'),
        ...args,
      );
      return [code, stdout.replace(account, '').replace(path('signed'), 'FILE')];
    };
    const lines = note.split('\n');
    const [byLog, byWitness] = [lines.toSpliced(-2, 1).join('\n'), lines.toSpliced(-3, 1).join('\n')];
    const other = verifierText(signerKey(WITNESS.name, newCheckpointKey('').seed, COSIGNATURE));
    const stranger = verifierText(signerOf(newCheckpointKey(KEY.name), account));
    expect(await check(note, path('log-key'), path('witness-key'))).toEqual([0, '']);
    expect(await check(byLog, path('log-key'))).toEqual([0, '']);
    // An auditor who trusts the witness, and not the operator, needs no key of the operator.
    expect(await check(byWitness, path('witness-key'))).toEqual([0, '']);
    expect(await check(byLog, path('witness-key'))).toEqual([1, wrong]);
    expect(await check(note, path('log-key'), other)).toEqual([1, wrong]);
    expect(await check(note, stranger)).toEqual([1, wrong]);
    expect(await check(note.replace('\n16\n', '\n15\n'), path('log-key'))).toEqual([
      1,
      expect.stringContaining('\tthe checkpoint of 15 events in FILE: its signature is wrong\n'),
    ]);
  });

  it('know the earlier keys of CHECKPOINT_KEY after a change of key, take an old public key for every account, and say when they know none', async () => {
    await whileTampered(service.databaseUrl, 'select', async () => {
      await seal(new SealedLogs(service.pool), new KeyHistory(KEY), { accountId: account, size: 16, sealed: 0 });
      const verify = (own: Record<string, string>, ...args: string[]) =>
        runCli({ ...settings(), ...own }, 'audit', 'verify', ...args);
      const changed = { CHECKPOINT_KEY: keyText(newCheckpointKey('new.example.com')) };
      const wrong = `${account}\tthe checkpoint of 16 events: its signature is wrong\n`;
      const [old, stranger] = [elsewhere(KEY), elsewhere(newCheckpointKey(KEY.name))];
      const inOrder = await verify(changed, '--key', old, '--checkpoint', path('kept-16'));
      expect([inOrder.code, inOrder.stdout]).toEqual([0, '']);
      expect(inOrder.stderr).not.toContain('not checked');
      expect(await verify(changed)).toMatchObject({
        code: 1,
        stdout: `${account}\tthe checkpoint of 16 events: signed by the key ${KEY.name}, which is not known\n`,
      });
      const history = { CHECKPOINT_KEY: `${keyText(KEY)}\n${changed.CHECKPOINT_KEY}\n` };
      expect(await verify(history, '--checkpoint', path('kept-16'))).toMatchObject({ code: 0, stdout: '' });
      const proven = await runCli({ ...settings(), ...history }, 'projections', 'prove');
      expect(proven).toMatchObject({ code: 0, stdout: '' });
      expect(await verify(changed, '--key', stranger)).toMatchObject({ code: 1, stdout: wrong });
      expect((await verify({}, '--key', path('witness-key'))).stderr).toContain(
        "the log's own signatures of checkpoints are not checked: set CHECKPOINT_KEY, or give the public key of the log with --key\n",
      );
    });
    const atFile = ['audit', 'verify', '--file', path('export'), '--checkpoint', path('kept-16')];
    const byWitness = await runCli({}, ...atFile, '--key', path('witness-key'));
    expect(byWitness.stderr).toContain(
      ' not checked: set CHECKPOINT_KEY, or give the public key of the log with --key\n',
    );
    expect(await runCli({}, ...atFile, '--key', elsewhere(KEY))).toMatchObject({ code: 0, stdout: '' });
  });

  it('of a key that was taken out are counted and not checked, where one of a known key covers their events', async () => {
    await whileTampered(service.databaseUrl, 'select', async () => {
      const [old, changed] = [new KeyHistory(KEY), new KeyHistory(newCheckpointKey('new.example.com'), [KEY])];
      const sealAs = (keys: KeyHistory, sealed: number, size: number) =>
        seal(new SealedLogs(service.pool), keys, { accountId: account, size, sealed });
      await sealAs(old, 0, 8);
      await sealAs(old, 8, 16);
      await sealAs(changed, 16, 18);
      const run = async (...args: string[]) => {
        const own = { ...settings(), CHECKPOINT_KEY: keyText(changed.signing) };
        const { code, stdout, stderr } = await runCli(own, ...args);
        return { code, stdout, unchecked: stderr.split('\n').filter((line) => line.includes('not checked')) };
      };
      const unchecked = [
        `the signatures of 2 checkpoints of 1 logs are not checked, since the key ${KEY.name} is not known: later checkpoints cover their events. Give its public key with --key`,
      ];
      await keep('all', (await runCli(settings(), 'audit', 'export', '--all')).stdout);
      for (const check of [
        ['audit', 'verify'],
        ['projections', 'prove'],
        ['audit', 'verify', '--file', path('all')],
      ]) {
        expect(await run(...check)).toEqual({ code: 0, stdout: '', unchecked });
        expect(await run(...check, '--key', elsewhere(KEY))).toEqual({ code: 0, stdout: '', unchecked: [] });
        const stranger = await run(...check, '--key', elsewhere(newCheckpointKey(KEY.name)));
        expect(stranger).toMatchObject({
          code: 1,
          stdout: expect.stringContaining('8 events: its signature is wrong\n'),
        });
      }
      // Nothing covers what another key signs afterwards.
      await sealAs(new KeyHistory(newCheckpointKey('other.example.com'), [changed.signing]), 18, 20);
      expect(await run('projections', 'prove')).toEqual({
        code: 1,
        stdout: `${account}\tthe checkpoint of 20 events: its signature is wrong\n`,
        unchecked,
      });
    });
  });

  it('have the verdict of docs/verify-log.mjs, which takes the key of a witness too', async () => {
    const verdict = (exportedLog: string, checkpoint: string, key: string): Promise<string> =>
      new Promise((resolve) => {
        const files = [exportedLog, checkpoint, key].map(path);
        execFile(process.execPath, [`${REPOSITORY}/docs/verify-log.mjs`, ...files], (_, stdout) => resolve(stdout));
      });
    const cosigned = await noteOf(16);
    await keep(
      'later',
      cosigned.replace(/(witness\.example\.org )(\S+)/, (_, name, signature) => {
        const bytes = Buffer.from(signature, 'base64');
        bytes.writeBigUInt64BE(1_800_000_000n, 4);
        return name + bytes.toString('base64');
      }),
    );
    const found = expect.stringMatching(
      /^OK: the first 16 of 24 events are those that tunnels\.example\.com\/ac_\w+ signed\n/,
    );
    expect(await verdict('export', 'kept-16', 'log-key')).toEqual(found);
    expect(await verdict('export', 'kept-16', 'witness-key')).toEqual(found);
    expect(await verdict('export', 'later', 'witness-key')).toBe('REFUSED: the signature of the checkpoint is wrong\n');
    await keep('edited', exported.replace('127.0.0.1', '192.0.2.1'));
    expect(await verdict('edited', 'kept-16', 'witness-key')).toMatch(
      /^REFUSED: position \d+: the event does not have its hash/,
    );
  });

  it.each<[what: string, args: () => string[], said: RegExp]>([
    [
      'a checkpoint that is none',
      () => ['--checkpoint', path('export')],
      /export holds no checkpoint as GET \/log\/checkpoint/,
    ],
    ['a checkpoint that is not there', () => ['--checkpoint', path('none')], /the checkpoint cannot be read: ENOENT/],
    ['an export that is not there', () => ['--file', path('none')], /the file cannot be read: ENOENT/],
    ['an account beside a file', () => ['--file', path('export'), '--account', account], /--account is for a database/],
  ])('refuse %s', async (_, args, said) => {
    expect(await offline(...args())).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(said) });
  });
});
