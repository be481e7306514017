import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from '../support/api-client.js';
import { complementOf, type EchoTarget, exchange, startEchoTarget } from '../support/echo-target.js';
import { freePort } from '../support/free-port.js';
import { newSecurityKey } from '../support/keys.js';
import { stopAtEnd } from '../support/leftovers.js';
import { type RunningMain, startMain, stopMain } from '../support/process.js';
import { ADMIN_KEY, cloneDatabase } from '../support/service.js';
import {
  type KeyPair,
  type Login,
  logIn,
  logInWithSome,
  newKeyPair,
  permittedOf,
  runSsh,
} from '../support/ssh-client.js';
import { type SshdGateway, startSshdGateway } from '../support/sshd-gateway.js';

/** The built service, stock sshd as docs/sshd-gateway.md sets it up, and the system's ssh, as its users run them. */

const TOKEN = 'a-token-for-the-test-gateway';
/** Each name has a loopback address of its own, so that what is bound shows. The last one no DNS would hold. */
const ADDRESSES: Readonly<Record<string, string>> = {
  'app.example.test': '127.0.1.2',
  'a.wild.example.test': '127.0.1.3',
  'a.b.wild.example.test': '127.0.1.4',
  'wild.example.test': '127.0.1.5',
  'evilwild.example.test': '127.0.1.6',
  'other.test': '127.0.1.7',
  '*.wild.example.test': '127.0.1.8',
};
const addressOf = (host: string): string => ADDRESSES[host.toLowerCase()] ?? host;

let target: EchoTarget;
let databaseUrl: string;
let servicePort: number;
let service: RunningMain;
let admin: ApiClient;
let gateway: SshdGateway;

beforeAll(async () => {
  const database = await cloneDatabase();
  stopAtEnd(database.drop);
  databaseUrl = database.url;
  target = await startEchoTarget();
  servicePort = await freePort('127.0.0.1');
  await startService();
  const hosts = Object.entries(ADDRESSES).map(([name, address]) => `${address} ${name}`);
  gateway = await startSshdGateway({ service: admin.url, token: TOKEN, hosts });
});

async function startService(): Promise<void> {
  service = startMain({
    PORT: String(servicePort),
    DATABASE_URL: databaseUrl,
    BOOTSTRAP_API_KEY: ADMIN_KEY,
    GATEWAY_TOKENS: `another-gateways-token,${TOKEN}`,
  });
  admin = new ApiClient(await service.url, ADMIN_KEY);
}

/** A credential as users create it; its id. */
async function createCredential(key: KeyPair, acl: readonly string[], more: object = {}): Promise<string> {
  const { status, body } = await admin.post('/ssh_credentials', { public_key: key.publicKey, acl, ...more });
  expect({ status, body }).toMatchObject({ status: 201 });
  return body.id;
}

async function newCredential(...acl: string[]): Promise<KeyPair & { readonly id: string }> {
  const key = await newKeyPair();
  return { ...key, id: await createCredential(key, acl) };
}

/** `-R` with the test's target at its end. */
const forwarding = (listen: string): string[] => ['-R', `${listen}:127.0.0.1:${target.port}`];
const bind = (key: KeyPair, ...listens: string[]): Promise<Login> =>
  logIn(gateway.port, key, ...listens.flatMap(forwarding));

const PERMISSION_DENIED = 'Permission denied (publickey)';

async function expectBytesBothWays(host: string, port: number): Promise<void> {
  const bytes = randomBytes(200_000);
  expect((await exchange(addressOf(host), port, bytes)).equals(complementOf(bytes))).toBe(true);
}

/** Opens the bind, sends bytes through it, and closes it. */
async function expectTunnel(key: KeyPair, host: string, port: number): Promise<void> {
  const login = await bind(key, `${host}:${port}`);
  expect(login.isOpen ? 'open' : login.output()).toBe('open');
  await expectBytesBothWays(host, port);
  await login.close();
}

/** sshd's words, which `ssh -v` shows: not on the key's list, and no forwarding at all. A bind that fails otherwise has neither. */
const NOT_ON_THE_LIST = 'Remote: port forwarding refused';
const NO_FORWARDING = 'Remote: Server has disabled port forwarding.';

/** The key is let in, and what it asks for is denied. */
async function expectDenied(key: KeyPair, listen: string, reason = NOT_ON_THE_LIST): Promise<void> {
  const login = await bind(key, listen);
  expect(login.isOpen).toBe(false);
  expect(login.output()).toContain(reason);
  expect(login.output()).toContain('remote port forwarding failed for listen port');
}

async function expectNotLetIn(key: KeyPair, listen: string): Promise<void> {
  const login = await bind(key, listen);
  expect(login.isOpen).toBe(false);
  expect(login.output()).toContain(PERMISSION_DENIED);
}

describe('a credential created by POST', () => {
  it.each([
    ['ed25519', ['-t', 'ed25519']],
    ['RSA', ['-t', 'rsa', '-b', '2048']],
    ['ECDSA P-256', ['-t', 'ecdsa', '-b', '256']],
    ['ECDSA P-521', ['-t', 'ecdsa', '-b', '521']],
  ])('opens a tunnel with bytes both ways (%s)', async (_, kind) => {
    const key = await newKeyPair(...kind);
    await createCredential(key, ['bind:app.example.test']);
    await expectTunnel(key, 'app.example.test', await freePort('127.0.1.2'));
  });

  it('of another key lets nobody in', async () => {
    await expectNotLetIn(await newKeyPair(), 'app.example.test:7001');
  });
});

/** Hosts that are asked for together, at one free port; `{port}` in a rule is that port. */
interface Binds {
  readonly rules: readonly string[];
  readonly permitted: readonly string[];
  readonly denied: readonly string[];
}

const BINDS: readonly Binds[] = [
  {
    rules: ['bind:app.example.test'],
    permitted: ['app.example.test'],
    denied: ['other.test', 'app.example.test.', '127.0.1.2', 'localhost', '', '*'],
  },
  {
    rules: ['bind:*.wild.example.test'],
    permitted: ['a.wild.example.test', 'a.b.wild.example.test', '*.wild.example.test'],
    denied: ['wild.example.test', 'evilwild.example.test', 'other.test', ''],
  },
  {
    rules: ['bind:App.Example.TEST.', 'bind:team=blue'],
    permitted: ['APP.example.test'],
    denied: ['other.test'],
  },
  {
    rules: ['bind:app.example.test:{port}', 'bind:other.test:1'],
    permitted: ['app.example.test'],
    denied: ['other.test'],
  },
  {
    rules: ['bind:*.wild.example.test:{port}', 'bind:*.example.test:1'],
    permitted: ['a.wild.example.test'],
    denied: ['wild.example.test', 'app.example.test'],
  },
  {
    rules: ['bind:127.0.1.2:{port}', 'bind:127.0.0.1'],
    permitted: ['127.0.1.2'],
    denied: ['localhost', '127.0.1.3', '127.1', '0.0.0.0', 'app.example.test'],
  },
  { rules: ['bind:localhost'], permitted: ['localhost'], denied: ['127.0.0.1', '[::1]', '0.0.0.0', ''] },
  { rules: ['bind:0.0.0.0'], permitted: ['0.0.0.0'], denied: ['', '[::]', '127.0.0.1'] },
  { rules: [], permitted: ['app.example.test', 'other.test'], denied: [] },
  { rules: ['*'], permitted: ['other.test'], denied: [] },
  { rules: ['bind:app.example.test:1', 'bind:*'], permitted: ['other.test'], denied: [] },
];

describe('a bind', () => {
  it.each(BINDS)('of a key with $rules: $permitted permitted, $denied denied', async ({ rules, permitted, denied }) => {
    const port = await freePort('127.0.0.1');
    const key = await newCredential(...rules.map((rule) => rule.replace('{port}', String(port))));
    const asked = [...permitted, ...denied].map((host) => `${host}:${port}`);
    const login = await logInWithSome(gateway.port, key, asked, `127.0.0.1:${target.port}`);
    expect(permittedOf(login.output())).toEqual(permitted.map((host) => `${host}:${port}`));
    expect(login.output().split(NOT_ON_THE_LIST)).toHaveLength(denied.length + 1);
    for (const host of permitted) await expectBytesBothWays(host, port);
    await login.close();
  });

  it.each([
    ['labels', ['bind:app=example', 'bind:*=*']],
    ['any port but a random one', ['bind:app.example.test:*']],
  ])('of a key with rules that have no form in sshd is denied: %s', async (_, rules) => {
    const key = await newCredential(...rules);
    await expectDenied(key, 'app.example.test:7001', NO_FORWARDING);
    await expectDenied(key, 'app.example.test:0', NO_FORWARDING);
  });

  it('listens on the address of its name and on no other', async () => {
    const port = await freePort('127.0.1.2');
    const login = await bind(await newCredential(), `app.example.test:${port}`);
    await expectBytesBothWays('app.example.test', port);
    await expect(exchange('127.0.0.1', port, Buffer.from('hello'))).rejects.toThrow('ECONNREFUSED');
    await login.close();
  });

  it('that is denied is in sshd’s log', async () => {
    await expectDenied(await newCredential('bind:app.example.test'), 'other.test:7001');
    await gateway.logged('to remote forward to host other.test port 7001, but the request was denied.');
  });

  it('to a random port is for rules without a port', async () => {
    const login = await bind(await newCredential('bind:app.example.test'), 'app.example.test:0');
    const port = Number(/Allocated port (\d+)/.exec(login.output())?.[1]);
    await expectBytesBothWays('app.example.test', port);
    await login.close();
    await expectDenied(await newCredential('bind:app.example.test:7001'), 'app.example.test:0');
  });

  it('to an IPv6 address is permitted in its shortest spelling only', async () => {
    const key = await newCredential('bind:[0:0::1]:7001', 'bind:[2001:DB8::1]');
    const login = await bind(key, '[2001:db8::1]:7001');
    // The machine has not this address, so sshd cannot listen; but it did not deny it.
    expect(login.output()).toContain('remote port forwarding failed for listen port 7001');
    expect(login.output()).not.toContain(NOT_ON_THE_LIST);
    await expectDenied(key, '[::1]:7002');
    await expectDenied(key, '[0:0::1]:7001');
  });
});

describe('several credentials of one key', () => {
  it('are a union, and lose what is deleted', async () => {
    const key = await newCredential('bind:app.example.test');
    await createCredential(key, ['bind:*.wild.example.test']);
    const [port, other] = [await freePort('127.0.1.2'), await freePort('127.0.1.3')];
    const both = await bind(key, `app.example.test:${port}`, `a.wild.example.test:${other}`);
    await expectBytesBothWays('app.example.test', port);
    await expectBytesBothWays('a.wild.example.test', other);
    await both.close();

    expect(await admin.delete(`/ssh_credentials/${key.id}`)).toMatchObject({ status: 204 });
    await expectDenied(key, 'app.example.test:7001');
    await expectTunnel(key, 'a.wild.example.test', await freePort('127.0.1.3'));
  });

  it('of thousands of rules still let the key in', async () => {
    const key = await newKeyPair();
    for (const n of [1, 2, 3, 4, 5]) {
      const rules = Array.from({ length: 999 }, (_, i) => `bind:host-${n}-${i}.example.test`);
      await createCredential(key, n === 1 ? ['bind:app.example.test', ...rules] : rules);
    }
    await expectTunnel(key, 'app.example.test', await freePort('127.0.1.2'));
  });
});

describe('a revocation', () => {
  it('by deletion refuses the next login, and leaves the open tunnel to recheck', async () => {
    const key = await newCredential('bind:app.example.test');
    const port = await freePort('127.0.1.2');
    const live = await bind(key, `app.example.test:${port}`);
    expect(await admin.delete(`/ssh_credentials/${key.id}`)).toMatchObject({ status: 204 });
    await expectNotLetIn(key, 'app.example.test:7001');
    await expectBytesBothWays('app.example.test', port);
    await live.close();
  });

  it('by narrowing the rules holds from the next login on', async () => {
    const key = await newCredential();
    expect(await admin.patch(`/ssh_credentials/${key.id}`, { acl: ['bind:other.test'] })).toMatchObject({
      status: 200,
    });
    await expectDenied(key, 'app.example.test:7001');
  });

  it('by deactivating the owner holds until it is active again', async () => {
    const { body: owner } = await admin.post('/users', { email: 'owner@example.test', role: 'member' });
    const key = await newKeyPair();
    await createCredential(key, ['bind:app.example.test'], { owner_id: owner.id });
    await expectTunnel(key, 'app.example.test', await freePort('127.0.1.2'));
    await admin.patch(`/users/${owner.id}`, { active: false });
    await expectNotLetIn(key, 'app.example.test:7001');
    await admin.patch(`/users/${owner.id}`, { active: true });
    await expectTunnel(key, 'app.example.test', await freePort('127.0.1.2'));
  });
});

describe('nothing but remote forwarding works, even for a key without rules', () => {
  let key: KeyPair;
  beforeAll(async () => {
    key = await newCredential();
  });

  it.each([
    ['a shell', []],
    ['a command', ['id']],
    ['sftp', ['-s', 'sftp']],
  ])('%s is refused', async (_, command) => {
    const { code, stderr } = await runSsh(gateway.port, key, [], command);
    expect(code).toBe(255);
    expect(stderr).toContain('channel 0: open failed');
  });

  it('-W is refused', async () => {
    const before = target.connections();
    const { code, stderr } = await runSsh(gateway.port, key, ['-W', `127.0.0.1:${target.port}`]);
    expect(code).toBe(255);
    expect(stderr).toContain('open failed: administratively prohibited');
    expect(target.connections()).toBe(before);
  });

  it.each([
    ['a port', () => `127.0.0.1:${target.port}`],
    ['a Unix socket', () => target.socketPath],
  ])('-L connects to nothing: %s', async (_, destination) => {
    const before = target.connections();
    const port = await freePort('127.0.0.1');
    const login = await logIn(gateway.port, key, '-L', `127.0.0.1:${port}:${destination()}`);
    expect(login.isOpen).toBe(true);
    expect(await exchange('127.0.0.1', port, Buffer.from('hello'))).toHaveLength(0);
    await login.close();
    expect(login.output()).toContain('open failed');
    expect(target.connections()).toBe(before);
  });

  it('-D connects to nothing', async () => {
    const before = target.connections();
    const port = await freePort('127.0.0.1');
    const login = await logIn(gateway.port, key, '-D', `127.0.0.1:${port}`);
    const socks4 = Buffer.from([4, 1, target.port >> 8, target.port & 0xff, 127, 0, 0, 1, 0]);
    const answer = await exchange('127.0.0.1', port, Buffer.concat([socks4, Buffer.from('hello, hello')]));
    // ssh itself may say "granted" before it asks; what follows would be the target's bytes.
    expect(answer.subarray(8)).toHaveLength(0);
    await login.close();
    expect(login.output()).toContain('open failed: administratively prohibited');
    expect(target.connections()).toBe(before);
  });

  it('-R to a Unix socket is refused', async () => {
    const login = await logIn(gateway.port, key, ...forwarding(`${target.socketPath}.new`));
    expect(login.isOpen).toBe(false);
    expect(login.output()).toContain('Remote: Server has disabled streamlocal forwarding.');
  });
});

describe('a FIDO key', () => {
  it('has a line that OpenSSH reads, and sshd takes it for that key', async () => {
    const line = newSecurityKey();
    const key = await newKeyPair();
    // Only the public half, as for a key whose token is elsewhere: ssh offers it, sshd looks it up, and nobody can sign.
    await writeFile(`${key.file}.pub`, line);
    await writeFile(key.file, '');
    const id = await createCredential({ ...key, publicKey: line }, ['bind:app.example.test']);
    const [type, blob = ''] = line.split(' ');
    const fingerprint = `SHA256:${createHash('sha256').update(Buffer.from(blob, 'base64')).digest('base64').replace(/=+$/, '')}`;

    const query = new URLSearchParams({ type: String(type), fingerprint });
    const answer = await fetch(`${admin.url}/ssh_gateway/authorized_keys?${query}`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const printed = await answer.text();
    expect(printed.trimEnd()).toBe(`restrict,port-forwarding,permitlisten="app.example.test:*" ${type} ${blob} ${id}`);
    expect(execFileSync('ssh-keygen', ['-l', '-f', '-'], { input: printed, encoding: 'utf8' })).toBe(
      `256 ${fingerprint} ${id} (ED25519-SK)\n`,
    );

    await expectNotLetIn({ ...key, file: `${key.file}.pub` }, 'app.example.test:7001');
    await gateway.logged(`Accepted key ED25519-SK ${fingerprint} found at`);
  });
});

describe('while the service is down', () => {
  it('nobody is let in, open tunnels go on, and all is well when it is back', async () => {
    const key = await newCredential('bind:app.example.test');
    const port = await freePort('127.0.1.2');
    const live = await bind(key, `app.example.test:${port}`);
    await stopMain(service);
    await expectNotLetIn(key, 'app.example.test:7001');
    await gateway.logged('failed, status 7');
    await expectBytesBothWays('app.example.test', port);
    await live.close();

    await startService();
    await expectTunnel(key, 'app.example.test', await freePort('127.0.1.2'));
  });
});
