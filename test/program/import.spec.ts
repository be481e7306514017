import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newPublicKey } from '../support/keys.js';
import { addAccount, addUser, type TestPrincipal } from '../support/principals.js';
import { runCli, startCli } from '../support/process.js';
import { GATEWAY, type Service, startService } from '../support/service.js';

let service: Service;
let own: TestPrincipal;
let folder: string;
beforeAll(async () => {
  service = await startService(GATEWAY);
});
afterAll(() => service.stop());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-import-'));
  own = await addAccount(service);
});
afterEach(() => rm(folder, { recursive: true }));

async function fileOf(name: string, ...lines: readonly string[]): Promise<string> {
  await writeFile(join(folder, name), lines.map((line) => `${line}\n`).join(''));
  return join(folder, name);
}

interface Shown {
  readonly id: string;
  readonly description: string;
  readonly acl: readonly string[];
  readonly owner_id: string;
  readonly hostports: readonly string[];
}

interface Row {
  readonly file: string;
  readonly line: number;
  readonly outcome: string;
  readonly what: string;
}

async function run(...words: readonly string[]) {
  const { url, token = '' } = own.client;
  const ended = await runCli({ TUNNEL_ACCESS_URL: url, TUNNEL_ACCESS_KEY: token }, 'import', ...words, '--json');
  const report = ended.stdout.split('\n').filter(Boolean);
  return { ...ended, report: report.map((line): Row => JSON.parse(line)) };
}
const outcomes = ({ report }: Awaited<ReturnType<typeof run>>) => report.map(({ line, outcome }) => [line, outcome]);

const listOf = async (path: string, key: string): Promise<readonly Shown[]> =>
  (await own.client.get(`/${path}?limit=100`)).body[key];
const credentials = () => listOf('ssh_credentials', 'ssh_credentials');
/** What the log of the account has. */
const events = async () => (await own.client.get('/events?limit=100')).body.events.length;

const plain = (comment = 'x'): string => newPublicKey(comment);
const at = (port: number, key = plain()): string => `restrict,port-forwarding,permitlisten="${port}" ${key}`;

describe('import authorized-keys', () => {
  it('changes nothing without --yes, makes what is new with it, and nothing again', async () => {
    const file = await fileOf('keys', '# mine', '', at(8001, plain("ada's laptop")), plain(), `\t${at(8002)}\r`);
    const before = await events();
    const dry = await run('authorized-keys', file);
    const left = [4, 'left'];
    expect([dry.code, outcomes(dry)]).toEqual([1, [[3, 'new'], left, [5, 'new']]]);
    expect(await events()).toBe(before);
    expect(outcomes(await run('authorized-keys', file, '--yes'))).toEqual([[3, 'made'], left, [5, 'made']]);
    expect((await credentials()).map(({ acl, description }) => `${acl} ${description}`).sort()).toEqual([
      "bind:*:8001 ada's laptop",
      'bind:*:8002 x',
    ]);
    const after = await events();
    expect(outcomes(await run('authorized-keys', file, '--yes'))).toEqual([[3, 'there'], left, [5, 'there']]);
    expect(await events()).toBe(after);
  });

  it('ends with 0 if nothing is left', async () => {
    expect((await run('authorized-keys', await fileOf('keys', at(8001)))).code).toBe(0);
  });

  it('takes the first line of a key alone, also if that one is left or cannot be read', async () => {
    const keys = [plain(), plain(), plain(), plain()];
    const torn = keys[3]?.replace('AAAAC3', 'AAAA\fC3');
    const first = [
      at(8001, keys[0]),
      `command="x" ${keys[1]}`,
      `permitlisten="8001,"no ${keys[2]}`,
      `restrict ${torn}`,
    ];
    const file = await fileOf('keys', ...first, ...keys.map((key) => at(8002, key)));
    expect(outcomes(await run('authorized-keys', file, '--yes')).slice(4)).toEqual(
      [5, 6, 7, 8].map((line) => [line, 'left']),
    );
    expect(await credentials()).toEqual([expect.objectContaining({ acl: ['bind:*:8001'] })]);
  });

  it('leaves a key that has a credential with other rights, whatever the file says', async () => {
    const key = plain();
    await own.client.post('/ssh_credentials', { public_key: key, acl: ['bind:*:9000'] });
    const { report } = await run('authorized-keys', await fileOf('keys', at(8001, key)), '--yes');
    expect(report).toEqual([expect.objectContaining({ outcome: 'left', what: expect.stringContaining('sshcr_') })]);
    expect(await credentials()).toHaveLength(1);
  });

  it('makes nothing again of what was deleted since, and says so', async () => {
    const file = await fileOf('keys', at(8001));
    await run('authorized-keys', file, '--yes');
    const [{ id } = { id: 'none' }] = await credentials();
    await own.client.delete(`/ssh_credentials/${id}`);
    const { report } = await run('authorized-keys', file, '--yes');
    expect(report).toEqual([expect.objectContaining({ outcome: 'left', what: expect.stringContaining(id) })]);
    expect(await credentials()).toEqual([]);
  });

  it('reads a folder of sish, and gives the credentials to --owner', async () => {
    await mkdir(join(folder, 'pubkeys'));
    const [one, two] = [plain(), plain()];
    await fileOf('pubkeys/a', one);
    await fileOf('pubkeys/b', two, one);
    const { id } = await addUser(service, 'member', own.client);
    const words = ['authorized-keys', join(folder, 'pubkeys'), '--allow-everything', '--owner', id, '--yes'];
    const { report } = await run(...words);
    expect(report.map(({ file, line, outcome }) => [file.at(-1), line, outcome])).toEqual([
      ['a', 1, 'made'],
      ['b', 1, 'made'],
      ['b', 2, 'left'],
    ]);
    expect((await credentials()).map(({ acl, owner_id }) => [acl, owner_id])).toEqual([
      [[], id],
      [[], id],
    ]);
    expect((await run(...words)).report.map(({ outcome }) => outcome)).toEqual(['there', 'there', 'left']);
  });

  it('shows control characters of a line as ?, and leaves a line that is too long', async () => {
    const file = await fileOf(
      'keys',
      at(8001, `${plain()} \u001b[2J`),
      `new\u0007 ${plain()}`,
      at(1, 'x'.repeat(70_000)),
    );
    const { stdout, report } = await run('authorized-keys', file);
    expect(stdout).not.toMatch(/[^\P{Cc}\n]|\\u00/u);
    expect(report.map(({ outcome }) => outcome)).toEqual(['left', 'left', 'left']);
    expect(report[2]?.what).toContain('64 KiB');
    const named = await run('credentials', await fileOf('a\u0007b', JSON.stringify({ 'x\u001b[2J': 1 })));
    expect(named.report).toEqual([expect.objectContaining({ what: expect.stringContaining('x?[2J') })]);
    expect(named.report[0]?.file).toMatch(/a\?b$/);
  });

  it('leaves what the service refuses, and goes on', async () => {
    const key = plain();
    await (await addAccount(service)).client.post('/ssh_credentials', { public_key: key });
    const { code, report } = await run('authorized-keys', await fileOf('keys', at(8001, key), at(8002)), '--yes');
    expect([code, report.map(({ outcome }) => outcome)]).toEqual([1, ['left', 'made']]);
  });
});

describe('import credentials', () => {
  it('takes bodies, and what keys list --json prints, and leaves what has other fields or a second credential', async () => {
    const [key, expires_at] = [plain(), '2099-01-01T00:00:00.000Z'];
    const body = { public_key: key, acl: ['bind:app=web'], source_cidrs: ['10.0.0.1'], expires_at, metadata: 'm' };
    const file = await fileOf(
      'keys',
      JSON.stringify(body),
      JSON.stringify({ ...body, acl: ['bind:app=api'] }).replace('AAAA', '\\u0041AAA'),
      JSON.stringify({ public_key: plain() }),
      JSON.stringify({ ...body, public_key: plain(), rules: [] }),
      '{"public_key":',
    );
    const { report } = await run('credentials', file, '--yes');
    expect(report.map(({ outcome }) => outcome)).toEqual(['made', ...Array(4).fill('left')]);
    const [made] = await credentials();
    expect(made).toMatchObject({ ...body, source_cidrs: ['10.0.0.1/32'] });
    const listed = await fileOf('listed', JSON.stringify({ ...made, usage: null, fingerprint: 'x' }));
    expect(outcomes(await run('credentials', listed))).toEqual([[1, 'there']]);
  });
});

describe('import frp', () => {
  const proxy = (name: string, remotePort: number, more = '') =>
    `[[proxies]]\nname = "${name}"\ntype = "tcp"\nlocalPort = 22\nremotePort = ${remotePort}\n${more}`;
  const TOKEN = 'do-not-show-this';

  it('makes credential, group and edge of a proxy, and says the ssh line, what is left and which port is not served', async () => {
    await mkdir(join(folder, 'keys'));
    for (const name of ['ssh', 'far']) await fileOf(`keys/${name}.pub`, plain());
    const config = [`auth.token = "${TOKEN}"`, proxy('ssh', 20_001), proxy('far', 6_000), proxy('none', 20_002)];
    const file = await fileOf('frpc.toml', ...config, proxy('again', 20_001));
    const words = ['frp', file, '--keys', join(folder, 'keys'), '--host', '203.0.113.7'];
    const dry = await run(...words);
    expect(dry.report.map(({ outcome }) => outcome)).toEqual(['new', 'new', 'left', 'left']);
    expect(await credentials()).toEqual([]);
    const made = await run(...words, '--yes');
    expect(made.report.map(({ what }) => what)).toEqual([
      expect.stringMatching(/^ssh -N -i \S+keys\/ssh -p PORT -R frp=ssh:0:127\.0\.0\.1:22 GATEWAY$/),
      expect.stringContaining('GATEWAY_EDGE_PORTS'),
      expect.stringContaining('there is no key'),
      expect.stringContaining('remotePort 20001'),
    ]);
    expect(made.stdout + made.stderr).not.toContain(TOKEN);
    expect((await credentials()).map(({ acl }) => acl).sort()).toEqual([['bind:frp=far'], ['bind:frp=ssh']]);
    const edges = await listOf('edges/tcp', 'tcp_edges');
    expect(edges.map(({ hostports }) => hostports[0]).sort()).toEqual(['203.0.113.7:20001', '203.0.113.7:6000']);
    const after = await events();
    expect((await run(...words, '--yes')).report.map(({ outcome }) => outcome)).toEqual([
      'there',
      'there',
      'left',
      'left',
    ]);
    expect(await events()).toBe(after);
  });

  it('says which edge was deleted since, and does not call it made', async () => {
    await mkdir(join(folder, 'keys'));
    await fileOf('keys/ssh.pub', plain());
    const words = ['frp', await fileOf('frpc.toml', proxy('ssh', 20_001)), '--keys', join(folder, 'keys'), '--yes'];
    expect((await run(...words)).code).toBe(0);
    const [{ id } = { id: 'none' }] = await listOf('edges/tcp', 'tcp_edges');
    await own.client.delete(`/edges/tcp/${id}`);
    const { report } = await run(...words);
    expect(report).toEqual([expect.objectContaining({ outcome: 'left', what: expect.stringContaining(id) })]);
  });

  it.each([
    ['another group', 20_011],
    ['no group', 20_012],
  ])('leaves a port that an edge serves for %s', async (others, port) => {
    await mkdir(join(folder, 'keys'));
    await fileOf('keys/ssh.pub', plain());
    const { body } = await own.client.post('/backends/tunnel_group', { labels: { app: 'web' } });
    const backend = others === 'no group' ? {} : { backend: { backend_id: body.id } };
    expect(await own.client.post('/edges/tcp', { hostports: [`127.0.0.1:${port}`], ...backend })).toMatchObject({
      status: 201,
    });
    const file = await fileOf('frpc.toml', proxy('ssh', port));
    const { report } = await run('frp', file, '--keys', join(folder, 'keys'), '--yes');
    expect(report).toEqual([expect.objectContaining({ outcome: 'left', what: expect.stringContaining('edgtcp_') })]);
    expect(await credentials()).toEqual([]);
  });
});

it('import waits for a service that is busy or away, and sends each line with one Idempotency-Key', async () => {
  const keys = new Map<string, number>();
  const server = createServer((request, reply) => {
    const key = String(request.headers['idempotency-key']);
    const times = (keys.get(key) ?? 0) + 1;
    if (request.method === 'POST') keys.set(key, times);
    if (request.method === 'POST' && times === 1) reply.destroy();
    else if (request.method === 'POST' && times < 4)
      reply.writeHead(times === 2 ? 429 : 503, { 'retry-after': '1' }).end();
    else reply.end(JSON.stringify({ id: 'sshcr_1', created_at: new Date(), ssh_credentials: [] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const file = await fileOf('keys', at(8001), at(8002));
  const words = ['import', 'authorized-keys', file, '--yes'];
  const { code, stderr } = await runCli({ TUNNEL_ACCESS_URL: url, TUNNEL_ACCESS_KEY: 'k' }, ...words);
  server.close();
  expect([code, stderr.match(/asking again/g)]).toEqual([0, ['asking again']]);
  expect([...keys.values()]).toEqual([4, 4]);
  expect(
    [...keys.keys()].map((key) =>
      key
        .replace(/[0-9a-f]{32}/, 'DIGEST')
        .split(':')
        .slice(0, 3),
    ),
  ).toEqual(
    expect.arrayContaining([
      ['import', 'DIGEST', '1'],
      ['import', 'DIGEST', '2'],
    ]),
  );
});

it('import that is interrupted begins no further line, and says that it may be run again', async () => {
  const server = createServer((request, reply) => {
    if (request.url === '/caller') reply.end(JSON.stringify({ id: 'usr_1' }));
    else reply.writeHead(503).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const file = await fileOf('keys', at(8001));
  const settings = { TUNNEL_ACCESS_URL: url, TUNNEL_ACCESS_KEY: 'k' };
  const { child, stderr: told, ended } = startCli(settings, 'import', 'authorized-keys', file, '--yes');
  while (!told().includes('asking again')) await sleep(20);
  child.kill('SIGINT');
  const { code, stderr } = await ended;
  server.close();
  expect(code).toBe(130);
  expect(stderr).toMatch(/run the import again: it makes nothing twice\n$/);
});
