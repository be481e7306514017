import { beforeAll, describe, expect, it } from '@jest/globals';
import { exchange } from '../support/echo-target.js';
import { freePort } from '../support/free-port.js';
import {
  expectBytesBothWays,
  freePortOf,
  GatewayTrial,
  NO_FORWARDING,
  NOT_ON_THE_LIST,
} from '../support/gateway-trial.js';
import { type KeyPair, logIn, logInWithSome, newKeyPair, permittedOf, runSsh } from '../support/ssh-client.js';

let trial: GatewayTrial;
beforeAll(async () => {
  trial = await GatewayTrial.start();
});

describe('a credential created by POST', () => {
  it.each([
    ['ed25519', ['-t', 'ed25519']],
    ['RSA', ['-t', 'rsa', '-b', '2048']],
    ['ECDSA P-521', ['-t', 'ecdsa', '-b', '521']],
  ])('opens a tunnel with bytes both ways (%s)', async (_, kind) => {
    const key = await newKeyPair(...kind);
    await trial.createCredential(key, ['bind:app.example.test']);
    await trial.expectTunnel(key, 'app.example.test');
  });

  it('of another key accepts no login', async () => {
    await trial.expectNotLetIn(await newKeyPair());
  });
});

/** Hosts that one login binds at one free port; `{port}` in a rule is that port. */
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
    rules: ['bind:app.example.test:{port}', 'bind:other.test:1'],
    permitted: ['app.example.test'],
    denied: ['other.test'],
  },
  {
    rules: ['bind:127.0.1.2:{port}', 'bind:127.0.0.1'],
    permitted: ['127.0.1.2'],
    denied: ['localhost', '127.0.1.3', '127.1', '0.0.0.0', 'app.example.test'],
  },
  { rules: ['bind:localhost'], permitted: ['localhost'], denied: ['127.0.0.1', '[::1]', '0.0.0.0', ''] },
  { rules: ['bind:0.0.0.0'], permitted: ['0.0.0.0'], denied: ['', '[::]', '127.0.0.1'] },
  { rules: [], permitted: ['app.example.test', 'other.test'], denied: [] },
];

describe('a bind', () => {
  it.each(BINDS)('of a key with $rules: $permitted permitted, $denied denied', async ({ rules, permitted, denied }) => {
    const port = await freePort('127.0.0.1');
    const key = await trial.newCredential(...rules.map((rule) => rule.replace('{port}', String(port))));
    const binds = [...permitted, ...denied].map((host) => `${host}:${port}`);
    const login = await logInWithSome(trial.gateway.port, key, binds, `127.0.0.1:${trial.target.port}`);
    expect(permittedOf(login.output())).toEqual(permitted.map((host) => `${host}:${port}`));
    expect(login.output().split(NOT_ON_THE_LIST)).toHaveLength(denied.length + 1);
    for (const host of permitted) await expectBytesBothWays(host, port);
    await login.close();
  });

  it.each([
    ['labels', ['bind:app=example', 'bind:*=*']],
    ['any port but a random one', ['bind:app.example.test:*']],
  ])('of a key with rules that have no form in sshd is denied: %s', async (_, rules) => {
    const key = await trial.newCredential(...rules);
    await trial.expectDenied(key, 'app.example.test:7001', NO_FORWARDING);
    await trial.expectDenied(key, 'app.example.test:0', NO_FORWARDING);
  });

  it('listens on the address of its name and on no other', async () => {
    const port = await freePortOf('app.example.test');
    const login = await trial.bind(await trial.newCredential(), `app.example.test:${port}`);
    await expectBytesBothWays('app.example.test', port);
    await expect(exchange('127.0.0.1', port, Buffer.from('hello'))).rejects.toThrow('ECONNREFUSED');
    await login.close();
  });

  it('that is denied is in sshd’s log', async () => {
    await trial.expectDenied(await trial.newCredential('bind:app.example.test'), 'other.test:7001');
    await trial.gateway.logged('to remote forward to host other.test port 7001, but the request was denied.');
  });

  it('to a random port is for rules without a port', async () => {
    const login = await trial.bind(await trial.newCredential('bind:app.example.test'), 'app.example.test:0');
    const port = Number(/Allocated port (\d+)/.exec(login.output())?.[1]);
    await expectBytesBothWays('app.example.test', port);
    await login.close();
    await trial.expectDenied(await trial.newCredential('bind:app.example.test:7001'), 'app.example.test:0');
  });

  it('to an IPv6 address is permitted in its shortest spelling only', async () => {
    const key = await trial.newCredential('bind:[0:0::1]:7001', 'bind:[2001:DB8::1]');
    const login = await trial.bind(key, '[2001:db8::1]:7001');
    // The machine does not have this address, so sshd cannot listen; but sshd did not deny the bind.
    expect(login.output()).toContain('remote port forwarding failed for listen port 7001');
    expect(login.output()).not.toContain(NOT_ON_THE_LIST);
    await trial.expectDenied(key, '[::1]:7002');
    await trial.expectDenied(key, '[0:0::1]:7001');
  });
});

describe('nothing but remote forwarding works, even for a key without rules', () => {
  let key: KeyPair;
  beforeAll(async () => {
    key = await trial.newCredential();
  });

  it.each([
    ['a shell', []],
    ['a command', ['id']],
    ['sftp', ['-s', 'sftp']],
  ])('%s is refused', async (_, command) => {
    const { code, stderr } = await runSsh(trial.gateway.port, key, [], command);
    expect(code).toBe(255);
    expect(stderr).toContain('channel 0: open failed');
  });

  it.each([
    ['a port', () => `127.0.0.1:${trial.target.port}`],
    ['a Unix socket', () => trial.target.socketPath],
  ])('-L connects to nothing: %s', async (_, destination) => {
    const before = trial.target.connections();
    const port = await freePort('127.0.0.1');
    const login = await logIn(trial.gateway.port, key, '-L', `127.0.0.1:${port}:${destination()}`);
    expect(login.isOpen).toBe(true);
    expect(await exchange('127.0.0.1', port, Buffer.from('hello'))).toHaveLength(0);
    await login.close();
    expect(login.output()).toContain('open failed');
    expect(trial.target.connections()).toBe(before);
  });

  it('-R to a Unix socket is refused', async () => {
    const login = await logIn(
      trial.gateway.port,
      key,
      '-R',
      `${trial.target.socketPath}.new:127.0.0.1:${trial.target.port}`,
    );
    expect(login.isOpen).toBe(false);
    expect(login.output()).toContain('Remote: Server has disabled streamlocal forwarding.');
  });
});
