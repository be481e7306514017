import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newPublicKey } from '../support/keys.js';
import { addAccount, type TestPrincipal } from '../support/principals.js';
import { runCli, startCli } from '../support/process.js';
import { type Service, startService } from '../support/service.js';

let service: Service;
let account: TestPrincipal;
beforeAll(async () => {
  service = await startService();
  account = await addAccount(service);
});
afterAll(() => service.stop());

const audit = (...args: string[]) => runCli({ DATABASE_URL: service.databaseUrl }, 'audit', ...args);
const positionOf = ({ headers }: { headers: Headers }): string => headers.get('log-position') ?? '';

async function lifeOfACredential() {
  const created = await account.client.post('/ssh_credentials', { public_key: newPublicKey(), acl: ['bind:a.test'] });
  const path = `/ssh_credentials/${created.body.id}`;
  const changed = await account.client.patch(path, { acl: ['*'] });
  const deleted = await account.client.delete(path);
  return { id: created.body.id as string, created, changed, deleted };
}

describe('audit show', () => {
  it('prints the history of a resource: what changed, by whom, with which key and from where', async () => {
    const { id, created, changed } = await lifeOfACredential();
    const { code, stdout, stderr } = await audit('show', id);
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    const by = `by ${account.id} with ${account.keyId} from 127.0.0.1 using`;
    expect(lines[0]).toBe(`${id} of account ${account.accountId}`);
    expect(lines[1]).toMatch(
      /^\d{4}-\d\d-\d\dT[\d:.]{15}Z {2}version 1, position \d+ {2}ssh_credential_created\.v1 {2}by /,
    );
    expect(lines[1]).toContain(`position ${positionOf(created)}  ssh_credential_created.v1  ${by} "node"`);
    expect(lines).toContain('    acl: ["bind:a.test"]');
    expect(lines).toContain('    acl: ["bind:a.test"] -> ["*"]');
    expect(stdout).toContain(`in ${changed.headers.get('ngrok-operation-id')}`);
    expect(lines.at(-1)).toMatch(/version 3, position \d+ {2}ssh_credential_deleted\.v1/);
  });

  it('keeps control characters of a value from the terminal, and the hash of a key out of the output', async () => {
    const { body } = await account.client.post('/bot_users', { name: 'evil \u001b[2J\r\n \u009b2J name' });
    const { stdout } = await audit('show', body.id);
    expect(stdout).toContain('evil \\u001b[2J\\r\\n \\u009b2J name');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not hold them
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    expect((await audit('show', account.keyId)).stdout).not.toMatch(/hash|[0-9a-f]{64}/);
  });

  it('exits with 2 without an id', async () => {
    expect(await audit('show')).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('audit diff', () => {
  it('prints how a resource differs between two positions, a time, and now', async () => {
    const { id, created, changed, deleted } = await lifeOfACredential();
    const between = await audit('diff', id, '--from', positionOf(created), '--to', positionOf(changed));
    expect(between).toEqual({ code: 0, stdout: '    acl: ["bind:a.test"] -> ["*"]\n', stderr: '' });
    expect((await audit('diff', id, '--from', positionOf(created))).stdout).toBe(`${id} was deleted\n`);
    const before = String(Number(positionOf(created)) - 1);
    const creation = await audit('diff', id, '--from', before, '--to', positionOf(created));
    expect(creation.stdout).toMatch(new RegExp(`^${id} was created\n[^]*\n {4}acl: \\["bind:a\\.test"\\]\n`));
    expect((await audit('diff', id, '--from', positionOf(deleted), '--to', new Date().toISOString())).stdout).toBe('');
  });

  it('refuses a malformed position or time and one in the future', async () => {
    const { id } = await lifeOfACredential();
    const future = await audit('diff', id, '--from', '1', '--to', '999999');
    expect(future).toMatchObject({ code: 2, stderr: expect.stringContaining("--to '999999' is in the future") });
    expect(await audit('diff', id, '--from', 'noon')).toMatchObject({ code: 2, stdout: '' });
    expect(await audit('diff', id)).toMatchObject({ code: 2 });
    const swapped = await audit('diff', id, '--from', '3', '--to', '2');
    expect(swapped).toMatchObject({
      code: 2,
      stdout: '',
      stderr: '--from (position 3) is later than --to (position 2)\n',
    });
  });
});

describe('audit tail', () => {
  it('prints the newest events of all accounts or of one, in the order of their times', async () => {
    const { id } = await lifeOfACredential();
    const bot = await service.admin.post('/bot_users', { name: 'of another account' });
    const all = (await audit('tail', '-n', '4')).stdout.trimEnd().split('\n');
    expect(all.map((line) => line.split('  ')[3]?.split(' ')[0])).toEqual([id, id, id, bot.body.id]);
    const own = (await audit('tail', '-n', '2', '--account', account.accountId)).stdout.trimEnd().split('\n');
    expect(own).toEqual(all.slice(1, 3));
    expect(await audit('tail', '-n', 'many')).toMatchObject({ code: 2, stdout: '' });
  });

  it('with -f continues with each event once, also of new accounts, until it is interrupted', async () => {
    const tail = startCli({ DATABASE_URL: service.databaseUrl }, 'audit', 'tail', '-f', '-n', '1');
    while (tail.stdout() === '') await sleep(20);
    const made: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      made.push((await account.client.post('/bot_users', { name: `tailed ${Math.random()}` })).body.id);
    }
    const newcomer = await addAccount(service);
    while (!tail.stdout().includes(newcomer.keyId)) await sleep(20);
    tail.child.kill('SIGINT');
    const { code, stdout } = await tail.ended;
    expect(code).toBe(0);
    for (const id of made) expect(stdout.split(`  ${id} version 1  `)).toHaveLength(2);
  });
});

describe('--json', () => {
  const jsonOf = ({ stdout }: { readonly stdout: string }) =>
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));

  it('prints events, changes and accounts as lines of JSON, without the hash of a key', async () => {
    const { id, changed } = await lifeOfACredential();
    const by = { actor: account.id, api_key_id: account.keyId, account_id: account.accountId };
    const shown = jsonOf(await audit('show', id, '--json'));
    const acl = { field: 'acl', from: ['bind:a.test'], to: ['*'] };
    expect(shown[1]).toMatchObject({ ...by, type: 'ssh_credential_updated.v1', version: 2, changes: [acl] });
    const position = positionOf(changed);
    const diff = await audit('diff', id, '--from', `${Number(position) - 1}`, '--to', position, '--json');
    expect(jsonOf(diff)).toEqual([acl]);
    const tail = jsonOf(await audit('tail', '-n', '1', '--account', account.accountId, '--json'));
    expect(tail).toEqual([expect.objectContaining({ ...by, id, type: 'ssh_credential_deleted.v1' })]);
    expect((await audit('show', account.keyId, '--json')).stdout).not.toMatch(/hash|[0-9a-f]{64}/);
    const accounts = await runCli({ DATABASE_URL: service.databaseUrl }, 'accounts', 'list', '--json');
    expect(jsonOf(accounts)).toContainEqual(expect.objectContaining({ id: account.accountId }));
  });
});

describe('audit export', () => {
  it('succeeds when its reader leaves', async () => {
    const { child, ended } = startCli(
      { DATABASE_URL: service.databaseUrl },
      'audit',
      'export',
      '--account',
      account.accountId,
    );
    child.stdout?.destroy();
    expect(await ended).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});
