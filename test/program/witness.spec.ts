import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Sealer } from '../../src/api/audit/evidence/sealer.js';
import {
  type CheckpointKey,
  KeyHistory,
  keyText,
  newCheckpointKey,
  signerOf,
} from '../../src/event-log/transparency/seal/checkpoint-key.js';
import { seal } from '../../src/event-log/transparency/seal/seal.js';
import { SealedLogs } from '../../src/event-log/transparency/seal/sealed-logs.js';
import {
  COSIGNATURE,
  parseNote,
  parseVerifier,
  signerKey,
  verifierText,
} from '../../src/event-log/transparency/tree/signed-note.js';
import { Witness } from '../../src/operator/audit/witness/witness.js';
import { WitnessFolder } from '../../src/operator/audit/witness/witness-folder.js';
import { WitnessedService } from '../../src/operator/audit/witness/witnessed-service.js';
import { ServiceApi } from '../../src/operator/http/service-api.js';
import { takeErrorLinesLike } from '../support/error-lines.js';
import { freePort } from '../support/free-port.js';
import { addAccount, type TestPrincipal } from '../support/principals.js';
import { runCli, startCli } from '../support/process.js';
import { ADMIN_KEY, type Service, startCopy, startService } from '../support/service.js';
import { END_ALARMS, HASH_ANEW, whileTampered } from '../support/tampering.js';

const KEY = newCheckpointKey('tunnels.example.com');
const KEYS = new KeyHistory(KEY);
const WITNESS = newCheckpointKey('witness.example.org/w1');
let service: Service;
let by: TestPrincipal;
let folder: string;

beforeAll(async () => {
  service = await startService({ checkpointKeys: KEYS });
  // The tests sign: the service could sign a log before they have signed it with another key.
  service.app.nest.get(Sealer, { strict: false }).onModuleDestroy();
  by = await addAccount(service);
});
afterAll(() => service.stop());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-witness-'));
  await mkdir(kept());
  await writeFile(join(folder, 'witness.key'), `${keyText(WITNESS)}\n`);
  await writeFile(join(folder, 'api.key'), `${token()}\n`);
});
afterEach(() => rm(folder, { recursive: true }));

const token = (): string => by.client.token ?? '';
const kept = (): string => join(folder, 'kept');
const argsOf = (args: readonly string[]): string[] => [
  ...['audit', 'witness', service.app.url, '--folder', kept(), '--key-file', join(folder, 'witness.key')],
  ...(args.includes('--api-key-file') ? [] : ['--api-key-file', join(folder, 'api.key')]),
  ...args,
];
const witness = (...args: string[]) => runCli({}, ...argsOf(['--once', ...args]));
const file = (name: string): Promise<string> => readFile(join(kept(), name), 'utf8');

/** The same work in this process, with short waits. */
function witnessHere(url = service.app.url, onceMs = 5_000) {
  const reports: string[] = [];
  const key = signerKey(WITNESS.name, WITNESS.seed, COSIGNATURE);
  const timings = { pausesMs: [20, 40], onceMs };
  const http = new WitnessedService(new ServiceApi(new URL(url), token()));
  const work = new Witness(http, new WitnessFolder(kept()), key, undefined, (line) => reports.push(line), timings);
  return { work, reports };
}
const never = (): AbortSignal => new AbortController().signal;

/** Adds events to the log and seals it, as the service would within a second; returns its size. */
async function grow(events: number): Promise<number> {
  for (let n = 0; n < events; n += 1) await by.client.post('/edges/tcp', {});
  const { rows } = await service.pool.query('select size::int from log_heads where account_id = $1', [by.accountId]);
  await sealTo(rows[0].size);
  return rows[0].size;
}

/** Signs the log as it is, whatever alarms the service has raised since it was tampered with. */
async function sealTo(size: number, keys = KEYS, accountId = by.accountId): Promise<void> {
  const logs = new SealedLogs(service.pool);
  const sealed = async () => (await logs.lastCheckpoint(accountId))?.size ?? 0;
  while ((await sealed()) < size) {
    await service.pool.query(END_ALARMS);
    await seal(logs, keys, { accountId, size, sealed: await sealed() });
  }
}

const origin = (): string => `${KEY.name}/${by.accountId}`;
const ofAccount = (): string => `where account_id = '${by.accountId}'`;

// The service watches what is tampered with here, and may find any of it first.
takeErrorLinesLike(/^(ALARM: |the newest checkpoints are signed by the key |the log of \S+ cannot be sealed: )/);

describe('audit witness', () => {
  it('takes the first checkpoint on trust, says so, and cosigns it with its own key', async () => {
    const size = await grow(2);
    const { code, stdout, stderr } = await witness();
    expect([code, stdout]).toEqual([0, `${origin()}\t${size} events\n`]);
    expect(stderr).toContain(`is taken on trust, with its ${size} events, and kept in ${kept()}/checkpoint`);
    const note = parseNote(await file('checkpoint'));
    const [logKey, witnessKey] = [
      parseVerifier((await file('log-key')).trim()),
      parseVerifier((await file('witness-key')).trim()),
    ];
    if (logKey === undefined || witnessKey === undefined) throw new Error('no keys');
    expect(verifierText(logKey)).toBe(verifierText(signerOf(KEY, by.accountId)));
    expect(witnessKey.name).toBe(WITNESS.name);
    expect([note?.isSignedBy(logKey), note?.isSignedBy(witnessKey)]).toEqual([true, true]);
    expect(await readdir(kept())).toEqual(['checkpoint', 'log-key', 'witness-key']);
    for (const secret of [token(), WITNESS.seed.toString('base64')]) {
      for (const shown of [stdout, stderr]) expect(shown).not.toContain(secret);
    }
  });

  it('cosigns a log that has only grown, and one that is the same', async () => {
    await grow(1);
    await witness();
    const size = await grow(3);
    expect(await witness()).toMatchObject({ code: 0, stdout: `${origin()}\t${size} events, 3 more than before\n` });
    expect(await witness()).toMatchObject({ code: 0, stdout: `${origin()}\t${size} events, 0 more than before\n` });
  });

  it.each<[what: string, sql: string, key: CheckpointKey | undefined, said: RegExp]>([
    [
      'got shorter',
      'delete from log_checkpoints OF and size = SIZE; delete from events OF and position = SIZE; update log_heads set size = SIZE - 1 OF',
      undefined,
      /^the log got shorter: it has \d+ events, and had \d+\. Events that were signed are lost\n$/,
    ],
    [
      'is gone with all of its checkpoints',
      'delete from log_checkpoints OF; delete from events OF; delete from log_heads OF',
      undefined,
      /^the log had \d+ events, and the service shows no checkpoint of it: it answers 404 "The log has no checkpoint yet/,
    ],
    [
      'was edited, hashed and signed anew',
      `update events set metadata = replace(metadata, '127.0.0.1', '192.0.2.1') OF; ${HASH_ANEW}; delete from log_checkpoints OF; delete from log_tiles OF`,
      KEY,
      /^the history changed: there are two different checkpoints of \d+ events\n$/,
    ],
    [
      'is signed by another key of the same name',
      'delete from log_checkpoints OF and size = SIZE',
      newCheckpointKey(KEY.name),
      /^the checkpoint of tunnels\.example\.com\/ac_\w+ is not signed by the key of this log\n$/,
    ],
    [
      'is signed under another name',
      'delete from log_checkpoints OF and size = SIZE',
      newCheckpointKey('other.example.com'),
      /^the checkpoint belongs to "other\.example\.com\/ac_\w+", but the witnessed log is tunnels\.example\.com\/ac_\w+\. The account has another key now, and (\d+) events; it had \1\. After a planned change begin with a new --folder\n$/,
    ],
  ])('refuses a log that %s, and keeps what it had', async (_, sql, key, said) => {
    const statements = sql.replaceAll(' OF', ` ${ofAccount()}`);
    await grow(1);
    const size = await grow(1);
    expect(await witness()).toMatchObject({ code: 0, stdout: `${origin()}\t${size} events\n` });
    const before = await file('checkpoint');
    await whileTampered(service.databaseUrl, statements.replaceAll('SIZE', String(size)), async () => {
      if (key !== undefined) await sealTo(size, new KeyHistory(key, [KEY]));
      expect(await witness()).toMatchObject({ code: 1, stdout: expect.stringMatching(said) });
      expect(await file('checkpoint')).toBe(before);
    });
  });

  it('refuses a log that was changed and has grown since, with the checkpoint that contradicts its own as evidence', async () => {
    const size = await grow(1);
    await witness();
    const before = await file('checkpoint');
    const edit = `update events set metadata = replace(metadata, '127.0.0.1', '192.0.2.1') ${ofAccount()} and position = ${size}; ${HASH_ANEW};
      delete from log_checkpoints ${ofAccount()}; delete from log_tiles ${ofAccount()}`;
    await grow(1);
    await whileTampered(service.databaseUrl, edit, async () => {
      await sealTo(size + 1);
      const { code, stdout, stderr } = await witness();
      const what = `the log of ${size} events, which was witnessed, is not the beginning of the log of ${size + 1}`;
      expect([code, stdout]).toEqual([1, `the history changed: ${what}\n`]);
      expect(stderr).toContain(`the checkpoint that contradicts it is in ${kept()}/refused-checkpoint`);
      expect(await file('refused-checkpoint')).toBe((await by.client.get('/log/checkpoint')).body);
      expect(await file('checkpoint')).toBe(before);
    });
  });

  it('tells a tail that was lost with a change of key, keeps that checkpoint too, and replaces none that the old key signed', async () => {
    const size = await grow(2);
    await witness();
    const before = await file('checkpoint');
    const lost = `delete from events ${ofAccount()} and position = ${size}; update log_heads set size = ${size - 1} ${ofAccount()};
      delete from log_checkpoints ${ofAccount()}; delete from log_tiles ${ofAccount()}`;
    await whileTampered(service.databaseUrl, lost, async () => {
      await sealTo(size - 1, new KeyHistory(newCheckpointKey('other.example.com')));
      const said = `The account has another key now, and ${size - 1} events; it had ${size}. Events that were signed are lost\n`;
      const refused = { code: 1, stdout: expect.stringContaining(said) };
      expect(await witness()).toMatchObject({ ...refused, stderr: expect.stringContaining('contradicts it is in ') });
      expect(await file('refused-checkpoint')).toBe((await by.client.get('/log/checkpoint')).body);
      await writeFile(join(kept(), 'refused-checkpoint'), 'evidence');
      const stays = expect.stringContaining(`${kept()}/refused-checkpoint stays too, as it was\n`);
      expect(await witness()).toMatchObject({ ...refused, stderr: stays });
      expect([await file('refused-checkpoint'), await file('checkpoint')]).toEqual(['evidence', before]);
    });
  });

  it('refuses the log of another account', async () => {
    await grow(1);
    await witness();
    const before = await file('checkpoint');
    await writeFile(join(folder, 'other.key'), ADMIN_KEY);
    await sealTo(1, KEYS, service.app.firstAccount.accountId);
    expect(await witness('--api-key-file', join(folder, 'other.key'))).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`but the witnessed log is ${origin()}\n`),
    });
    expect(await file('checkpoint')).toBe(before);
  });

  it('refuses the folder of a witness with another key, and keeps what is there', async () => {
    await grow(1);
    await witness();
    const before = [await file('checkpoint'), await file('witness-key')];
    await writeFile(join(folder, 'other.key'), keyText(newCheckpointKey(WITNESS.name)));
    await grow(1);
    expect(await witness('--key-file', join(folder, 'other.key'))).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /the folder \S+kept belongs to the witness "witness\.example\.org\/w1\+\S+": give its key with/,
      ),
    });
    expect([await file('checkpoint'), await file('witness-key')]).toEqual(before);
  });

  it('waits for a service that is starting, and gives up waiting with --once', async () => {
    const size = await grow(1);
    const port = await freePort('127.0.0.1');
    const url = `http://127.0.0.1:${port}`;
    const impatient = witnessHere(url, 10);
    await expect(impatient.work.next(true, never())).rejects.toThrow(/gives no checkpoint: .*Nothing was witnessed$/);
    const { work, reports } = witnessHere(url);
    const witnessed = work.next(false, never());
    while (reports.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(reports[0]).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+ gives no checkpoint: .*ECONNREFUSED.*; asking again in 0\.0 s$/,
    );
    const copy = await startCopy(service, { checkpointKeys: KEYS, port });
    expect((await witnessed).checkpoint.size).toBe(size);
    await copy.stop();
  });

  it('several at once on one folder keep the newest checkpoint that any of them has seen', async () => {
    let size = await grow(1);
    await witness();
    for (let round = 0; round < 4; round += 1) {
      const looks = Array.from({ length: 4 }, () => witnessHere().work.next(true, never()));
      size = await grow(1);
      await Promise.all([...looks, witnessHere().work.next(true, never())]);
      expect(await file('checkpoint')).toContain(`${origin()}\n${size}\n`);
    }
    expect(await readdir(kept())).toEqual(['checkpoint', 'log-key', 'witness-key']);
  });

  it('goes on until it is interrupted', async () => {
    const size = await grow(1);
    const running = startCli({}, ...argsOf(['--every', '1']));
    const until = async (text: string) => {
      while (!running.stdout().includes(text)) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    await until(`${size} events\n`);
    await grow(1);
    await until(`${size + 1} events, 1 more than before\n`);
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });

  it.each<[string, () => Promise<string[]>, number, RegExp]>([
    ['a key in an argument', async () => ['--key-file', keyText(WITNESS)], 2, /^--key-file names a file: other users/],
    [
      'a file without a key',
      async () => ['--key-file', join(folder, 'api.key')],
      2,
      /api\.key names a file that holds no key as `tunnel-access audit key/,
    ],
    [
      'the key of the log itself',
      async () => {
        await writeFile(join(folder, 'log.key'), keyText(KEY));
        return ['--key-file', join(folder, 'log.key')];
      },
      2,
      /the witness has the same key as the log: make another one/,
    ],
    [
      'an unknown API key',
      async () => {
        await writeFile(join(folder, 'bad.key'), 'x'.repeat(30));
        return ['--api-key-file', join(folder, 'bad.key')];
      },
      3,
      /it answers 401 .*; check the API key/,
    ],
    [
      'a file without an API key',
      async () => {
        await writeFile(join(folder, 'bad.key'), '');
        return ['--api-key-file', join(folder, 'bad.key')];
      },
      2,
      /bad\.key must hold an API key and nothing else/,
    ],
    [
      'a log key that is none',
      async () => ['--log-key', join(folder, 'api.key')],
      2,
      /is neither a key as GET \/log\/key/,
    ],
  ])('refuses %s', async (_, args, code, said) => {
    await grow(1);
    expect(await witness(...(await args()))).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(said) });
    expect((await readdir(folder)).includes('checkpoint')).toBe(false);
  });
});
