import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newPublicKey } from '../support/keys.js';
import { addAccount, addUser, type TestPrincipal } from '../support/principals.js';
import { runCli, startCli } from '../support/process.js';
import { GATEWAY, type Service, startService } from '../support/service.js';
import { credentialOf, newSession, newTunnel, ReportingGateway } from '../support/session-reports.js';

const HOST_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB4d3XkgzFyHVGZ+LFUBdyDlGX+5Hh7hXIJO6X+fTPvs';

let service: Service;
let other: Service;
let own: TestPrincipal;
let foreign: TestPrincipal;
let folder: string;
beforeAll(async () => {
  service = await startService(GATEWAY);
  other = await startService();
});
afterAll(async () => {
  await service.stop();
  await other.stop();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-verbs-'));
  own = await addAccount(service);
  foreign = await addAccount(other);
});
afterEach(() => rm(folder, { recursive: true }));

const loginFile = () => join(folder, 'tunnel-access', 'login.json');
const settings = (more: Record<string, string> = {}) => ({ XDG_CONFIG_HOME: folder, ...more });
const given = ({ client: { url, token } }: TestPrincipal) =>
  settings({ TUNNEL_ACCESS_URL: url, TUNNEL_ACCESS_KEY: token ?? '' });
/** Runs a verb with the key of `own`. */
const run = (...words: string[]) => runCli(given(own), ...words);
const jsonOf = ({ stdout }: { readonly stdout: string }) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
const accountOf = async (environment: Record<string, string>, ...options: string[]) => {
  const ended = await runCli(environment, 'whoami', '--json', ...options);
  return [ended.code, jsonOf(ended)[0]?.account_id];
};

async function keyFile(text: string, name = 'key'): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

async function login({ client: { url, token } }: TestPrincipal, key = token) {
  const running = startCli(settings(), 'login', url);
  running.child.stdin?.end(`${key}\n`);
  return running.ended;
}

const recorders: Server[] = [];
afterEach(() => {
  for (const server of recorders.splice(0)) server.close();
});

/** A server that keeps what it is asked, and answers as it is told. */
async function recorder(answer: (asked: string) => [status: number, body: unknown]) {
  const asked: { readonly line: string; readonly headers: Readonly<Record<string, unknown>> }[] = [];
  const server: Server = createServer((request, reply) => {
    const line = `${request.method} ${request.url}`;
    asked.push({ line, headers: request.headers });
    const [status, body] = answer(line);
    reply
      .writeHead(status, { 'content-type': 'application/json', etag: `"${asked.length}"` })
      .end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  recorders.push(server);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, asked };
}

describe('a key and the service that it was given for', () => {
  it('come from the options, else from the environment, else from the login: never one from each', async () => {
    await login(foreign);
    const file = await keyFile(own.client.token ?? '');
    expect(await accountOf(settings())).toEqual([0, foreign.accountId]);
    expect(await accountOf(given(own))).toEqual([0, own.accountId]);
    expect(await accountOf(given(foreign), '--url', own.client.url, '--key-file', file)).toEqual([0, own.accountId]);
  });

  it('belong together: half of a pair is refused, and nothing is sent', async () => {
    await login(own);
    const { url, asked } = await recorder(() => [200, {}]);
    const file = await keyFile('k');
    for (const [environment, ...options] of [
      [{}, '--url', url],
      [{}, '--key-file', file],
      [{ TUNNEL_ACCESS_URL: url }],
      [{ TUNNEL_ACCESS_KEY: 'k' }],
      [given(own), '--url', url],
    ] as const) {
      const { code, stderr } = await runCli(settings(environment), 'keys', 'list', ...options);
      expect([code, stderr]).toEqual([2, expect.stringContaining('belong together')]);
    }
    expect(asked).toEqual([]);
  });

  it('are asked for where there are none', async () => {
    const { code, stderr } = await runCli(settings(), 'sessions');
    expect([code, stderr]).toEqual([2, expect.stringContaining('run tunnel-access login URL')]);
  });
});

describe('login', () => {
  it('keeps a key that works in a file for its user alone, and never shows it', async () => {
    const { code, stdout, stderr } = await login(own);
    expect([code, stdout, stderr]).toEqual([0, '', expect.stringContaining(`logged in at ${own.client.url}`)]);
    expect(stderr).not.toContain(own.client.token);
    expect((await stat(loginFile())).mode & 0o777).toBe(0o600);
    await login(foreign);
    expect(JSON.parse(await readFile(loginFile(), 'utf8'))).toEqual({
      url: foreign.client.url,
      key: foreign.client.token,
    });
  });

  it('keeps the earlier login if the key does not work', async () => {
    await login(own);
    const { code, stderr } = await login(own, 'wrong');
    expect([code, stderr]).toEqual([3, expect.stringContaining('check the API key')]);
    expect(await accountOf(settings())).toEqual([0, own.accountId]);
  });

  it('is refused if others can read it, and ends with logout', async () => {
    await login(own);
    await chmod(loginFile(), 0o644);
    expect(await runCli(settings(), 'whoami')).toMatchObject({ code: 2, stderr: expect.stringContaining('chmod 600') });
    await chmod(loginFile(), 0o600);
    expect(await runCli(settings(), 'logout')).toMatchObject({ code: 0 });
    expect(await runCli(settings(), 'whoami')).toMatchObject({ code: 2 });
  });
});

describe('keys', () => {
  const add = async (description: string, ...more: string[]) => {
    const file = await keyFile(`${newPublicKey(description)}\n`, `${description}.pub`);
    const { stdout } = await run('keys', 'add', file, ...more);
    return { id: stdout.trim(), file };
  };

  it('add uploads what was asked for, and tells the ssh line of the gateway that reports', async () => {
    const gateway = { hosts: [], address: 'ssh.example.com:2200', host_keys: [HOST_KEY] };
    await new ReportingGateway(service.gateway).whole({ gateway });
    const file = await keyFile(newPublicKey('ada@laptop'), 'laptop.pub');
    const options = ['--bind', 'app=web', '--bind', '*', '--from', '10.0.0.0/8', '--expires', '30d'];
    const { code, stdout, stderr } = await run('keys', 'add', file, ...options);
    const { body } = await own.client.get(`/ssh_credentials/${stdout.trim()}`);
    const [acl, source_cidrs] = [['bind:app=web', '*'], ['10.0.0.0/8']];
    expect([code, body]).toEqual([0, expect.objectContaining({ description: 'ada@laptop', acl, source_cidrs })]);
    expect(Math.round((Date.parse(body.expires_at) - Date.now()) / 86_400_000)).toBe(30);
    const identity = file.replace('.pub', '');
    expect(stderr).toContain(
      `next: ssh -N -i ${identity} -p 2200 -R app=web:0:localhost:3000 ssh.example.com\n      its host key is SHA256:`,
    );
    expect(await run('whoami')).toMatchObject({
      stderr: expect.stringContaining('gateway ssh.example.com:2200, host key'),
    });
  });

  it('add reads a file from where the user stands, also under npm run', async () => {
    await keyFile(newPublicKey('ada'), 'here.pub');
    const moved = { INIT_CWD: folder, npm_package_json: join(process.cwd(), 'package.json') };
    expect((await runCli({ ...given(own), ...moved }, 'keys', 'add', 'here.pub')).code).toBe(0);
    const elsewhere = { ...moved, npm_package_json: '/elsewhere/package.json' };
    expect((await runCli({ ...given(own), ...elsewhere }, 'keys', 'add', 'here.pub')).code).toBe(2);
  });

  it('add makes no second credential of a key, which would widen what it may do, unless one says so', async () => {
    const { id, file } = await add('laptop', '--bind', 'app=web');
    const { code, stderr } = await run('keys', 'add', file);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`the key has ${id} already, which may bind app=web`)]);
    expect((await own.client.get('/ssh_credentials')).body.ssh_credentials).toHaveLength(1);
    expect((await run('keys', 'add', file, '--bind', 'app=api', '--another')).code).toBe(0);
  });

  it('never sends a private key', async () => {
    const { url, asked } = await recorder(() => [200, {}]);
    const file = await keyFile('-----BEGIN OPENSSH PRIVATE KEY-----\nx\n', 'laptop');
    const environment = settings({ TUNNEL_ACCESS_URL: url, TUNNEL_ACCESS_KEY: 'k' });
    const { code, stderr } = await runCli(environment, 'keys', 'add', file);
    expect([code, stderr, asked]).toEqual([2, `${file} is a private key; give the .pub file beside it\n`, []]);
  });

  it('are found by id, .pub file, fingerprint and a description that only one has', async () => {
    const { id, file } = await add('laptop');
    const { body } = await own.client.get(`/ssh_credentials/${id}?include=fingerprint`);
    for (const key of [id, file, body.fingerprint, 'laptop']) {
      expect(jsonOf(await run('keys', 'show', key, '--json'))[0]?.id).toBe(id);
    }
    const second = await own.client.post('/ssh_credentials', { public_key: newPublicKey(), description: 'laptop' });
    const ended = await run('keys', 'rm', 'laptop');
    expect([ended.code, ended.stderr]).toEqual([
      2,
      `2 credentials are laptop; name one: ${second.body.id} (everything), ${id} (everything)\n`,
    ]);
    expect(await run('keys', 'rm', file, 'nobody')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no credential nobody'),
    });
    expect((await own.client.get('/ssh_credentials')).body.ssh_credentials).toHaveLength(2);
  });

  it('edit changes what is given and nothing else', async () => {
    const { id } = await add('laptop', '--bind', 'app=web', '--from', '10.0.0.0/8', '--expires', '30d');
    const now = async () => (await own.client.get(`/ssh_credentials/${id}`)).body;
    const before = await now();
    await run('keys', 'edit', id, '--bind', 'app=api');
    expect(await now()).toEqual({ ...before, acl: ['bind:app=api'] });
    const { code } = await run('keys', 'edit', id, '--from', 'any', '--expires', 'never', '--description', 'new');
    const { expires_at: _e, source_cidrs: _s, ...rest } = before;
    expect([code, await now()]).toEqual([0, { ...rest, acl: ['bind:app=api'], description: 'new' }]);
    expect(await run('keys', 'edit', id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('nothing to change'),
    });
  });

  it('edit sends the version that it has read, each time', async () => {
    const credential = { id: 'sshcr_1', acl: [], description: '' };
    const { url, asked } = await recorder((line) =>
      line.startsWith('PUT') ? [412, { msg: 'It was changed meanwhile.' }] : [200, credential],
    );
    const environment = settings({ TUNNEL_ACCESS_URL: url, TUNNEL_ACCESS_KEY: 'k' });
    const words = ['keys', 'edit', 'sshcr_1', '--bind', 'a=b', '--expires', '1d'];
    expect(await runCli(environment, ...words)).toMatchObject({ code: 2, stderr: 'It was changed meanwhile.\n' });
    const changes = asked
      .filter(({ line }) => !line.startsWith('GET'))
      .map(({ line, headers }) => [line, headers['if-match']]);
    expect(changes).toEqual([
      ['PATCH /ssh_credentials/sshcr_1', '"2"'],
      ['PUT /ssh_credentials/sshcr_1/expiry', '"4"'],
    ]);
  });

  it('rotate makes a credential with the new key, and lets the old one expire', async () => {
    const { id, file } = await add('laptop', '--bind', 'app=web');
    const newFile = await keyFile(newPublicKey('laptop-2'), 'laptop-2.pub');
    const { stdout } = await run('keys', 'rotate', file, newFile, '--overlap', '1h');
    const { body: old } = await own.client.get(`/ssh_credentials/${id}`);
    expect(Math.round((Date.parse(old.expires_at) - Date.now()) / 60_000)).toBe(60);
    expect((await own.client.get(`/ssh_credentials/${stdout.trim()}`)).body.acl).toEqual(['bind:app=web']);
  });

  it('list says online, offline and unknown, and is empty with a first step', async () => {
    expect(await run('keys', 'list')).toMatchObject({ stdout: '', stderr: expect.stringContaining('keys add') });
    const credential = await credentialOf(service, own);
    const idle = await credentialOf(service, own);
    await new ReportingGateway(service.gateway).whole({ sessions: [newSession(credential)] });
    const ids = async (...options: string[]) =>
      jsonOf(await run('keys', 'list', '--json', ...options)).map(({ id }) => id);
    expect([await ids('--online'), await ids('--offline'), await ids()]).toEqual([
      [credential.id],
      [idle.id],
      [idle.id, credential.id],
    ]);
    const { client } = await addUser(service, 'member', own.client);
    const { stdout } = await runCli(given({ ...own, client }), 'keys', 'list');
    expect(stdout.match(/\tunknown\t/g)).toHaveLength(2);
  });
});

describe('edges', () => {
  const countOf = async (path: string, key: string) => (await own.client.get(`/${path}`)).body[key].length;
  const left = async () => [
    await countOf('edges/tcp', 'tcp_edges'),
    await countOf('backends/tunnel_group', 'backends'),
    await countOf('ip_policies', 'ip_policies'),
  ];
  const at = (port: number) => `${own.accountId.toLowerCase().replace('_', '-')}.example:${port}`;

  it('add takes the group with exactly these labels, and rm removes what add made and no other edge names', async () => {
    await own.client.post('/backends/tunnel_group', { labels: { app: 'web', zone: 'a' } });
    const first = await run('edges', 'add', at(1), '--to', 'app=web', '--allow', '10.0.0.0/8', '--json');
    await run('edges', 'add', at(2), '--to', 'app=web');
    expect([first.code, await left()]).toEqual([0, [2, 2, 1]]);
    const [edge] = jsonOf(first);
    const { body } = await own.client.get(`/ip_policies/${edge.ip_restriction.ip_policies[0].id}`);
    expect(body.description).toBe(`for the edge at ${at(1)}`);
    const value = JSON.stringify({
      on_tcp_connect: [{ actions: [{ type: 'restrict-ips', config: { ip_policies: [body.id] } }] }],
    });
    const { id } = jsonOf(await run('edges', 'show', at(2), '--json'))[0];
    await own.client.put(`/edges/tcp/${id}/traffic_policy`, { value });
    await run('edges', 'rm', at(1));
    expect(await left()).toEqual([1, 2, 1]);
    await run('edges', 'rm', at(2));
    expect(await left()).toEqual([0, 1, 1]);
    await run('edges', 'add', at(3), '--to', 'app=web', '--allow', '10.0.0.0/8');
    await run('edges', 'rm', at(3));
    expect(await left()).toEqual([0, 1, 1]);
  });

  it('rm keeps a group that somebody else has made, although add took it', async () => {
    await own.client.post('/backends/tunnel_group', { labels: { app: 'web' } });
    await run('edges', 'add', at(1), '--to', 'app=web');
    await run('edges', 'rm', at(1));
    expect(await left()).toEqual([0, 1, 0]);
  });

  it('add leaves nothing behind if a step fails', async () => {
    const { code, stderr } = await run('edges', 'add', 'nowhere', '--to', 'app=web', '--allow', '10.0.0.0/8');
    expect([code, stderr]).toEqual([2, expect.stringContaining("'nowhere' is not a hostport")]);
    expect(await left()).toEqual([0, 0, 0]);
    await run('edges', 'add', at(1), '--to', 'app=web', '--allow', 'nonsense');
    expect(await left()).toEqual([0, 0, 0]);
  });

  it('add refuses a hostport that an older edge serves, unless told otherwise', async () => {
    const first = jsonOf(await run('edges', 'add', at(7), '--to', 'app=web', '--json'))[0];
    const again = ['edges', 'add', at(7), '--to', 'app=web', '--allow', '10.0.0.0/8'];
    const { code, stderr } = await run(...again);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`served by the older edge ${first.id}; remove it with`),
    ]);
    expect((await run(...again, '--another')).code).toBe(0);
  });

  it('add names what it could not remove', async () => {
    const { url } = await recorder((line) => {
      if (line.startsWith('GET')) return [200, { backends: [], tcp_edges: [], next_page_uri: null }];
      return line.startsWith('POST /backends') ? [201, { id: 'bkdtg_1' }] : [409, { msg: 'It is taken.' }];
    });
    const environment = settings({ TUNNEL_ACCESS_URL: url, TUNNEL_ACCESS_KEY: 'k' });
    const { code, stderr } = await runCli(environment, 'edges', 'add', 'a.example:1', '--to', 'app=web');
    expect([code, stderr]).toEqual([3, `It is taken.\nleft behind at ${url}: backends/tunnel_group/bkdtg_1\n`]);
  });
});

describe('sessions, refused, log and check', () => {
  it('show who is there, with the name of the credential, and stop one', async () => {
    const credential = await credentialOf(service, own);
    await own.client.patch(`/ssh_credentials/${credential.id}`, { description: 'pump 7' });
    const session = newSession(credential, { ago_ms: 125_000 });
    const targets = [{ label: { key: 'app', value: 'web' } }];
    const used = { id: session.id, account_id: own.accountId, bytes_in: 1_234 };
    await new ReportingGateway(service.gateway).whole({
      ...{ sessions: [session], tunnels: [newTunnel(session, { targets })], used: [used] },
    });
    expect(await run('sessions')).toMatchObject({
      stdout: `${session.id}\tpump 7\t203.0.113.9\t2m\tapp=web\t1.2 kB\tunknown\n`,
    });
    const { code } = await run('sessions', 'stop', session.id);
    const { body } = await own.client.get(`/events?stream=${session.id}`);
    expect([code, body.events[0].type]).toEqual([0, 'tunnel_session_stopped.v1']);
  });

  it('say what is wrong with a time or an id, in a sentence', async () => {
    const ofTime = /^'yesterday' is no time that this command knows; write 30d, 12h or 15m, a date/;
    for (const verb of ['log', 'refused']) {
      expect(await run(verb, '--since', 'yesterday')).toMatchObject({ code: 2, stderr: expect.stringMatching(ofTime) });
    }
    expect((await run('log', '--since', '2026-01-31')).code).toBe(0);
    expect(await run('sessions', 'stop', 'ts_nosuch')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no open session is ts_nosuch/),
    });
  });

  it('show which bind was refused and the rule that it needs; check says the same, with exit code 1', async () => {
    const key = newPublicKey('ada');
    const { body } = await own.client.post('/ssh_credentials', { public_key: key, acl: ['bind:a.example'] });
    const asked = { public_key: key, target: { domain: 'b.example' }, source: '192.0.2.7' };
    await service.gateway.post('/ssh_gateway/authorize', asked);
    const columns = `\tb.example\tnot_permitted\tbind:b.example\t${body.id}\t192.0.2.7\n`;
    for (let n = 0; n < 40 && (await run('refused', '--since', '1h')).stdout === ''; n += 1);
    expect((await run('refused', '--since', '1h')).stdout).toContain(columns);
    expect(await run('check', body.id, 'a.example')).toMatchObject({
      code: 0,
      stdout: 'permitted by bind:a.example\n',
    });
    expect(await run('check', body.id, 'b.example')).toMatchObject({
      ...{ code: 1, stdout: 'refused: not_permitted; it needs the rule bind:b.example\n' },
    });
    await own.client.patch(`/ssh_credentials/${body.id}`, { acl: ['bind:b.example'] });
    const asked_at = (await own.client.get(`/ssh_credentials/${body.id}/events`)).body.events[0].time;
    expect(await run('check', body.id, 'b.example')).toMatchObject({ code: 0 });
    const then = new Date(Date.parse(asked_at) + 1).toISOString();
    expect(await run('check', body.id, 'b.example', '--at', then)).toMatchObject({
      ...{ code: 1, stdout: 'refused: not_permitted; it needs the rule bind:b.example\n' },
    });
    expect((await run('log', body.id)).stdout).toMatch(/^\d+\t\S+Z\tssh_credential_created\.v1\tsshcr_/);
  });

  it('say that the service does not answer, without a stack', async () => {
    const environment = settings({ TUNNEL_ACCESS_URL: 'http://127.0.0.1:1', TUNNEL_ACCESS_KEY: 'k' });
    const { code, stderr } = await runCli(environment, 'sessions');
    expect([code, stderr]).toEqual([3, expect.stringMatching(/^http:\/\/127\.0\.0\.1:1 does not answer: .*\n$/)]);
  });
});
