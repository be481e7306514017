import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { complementOf, exchange } from '../support/echo-target.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { OwnGateway } from '../support/own-gateway.js';
import { type KeyPair, logIn, logInWithSome, newKeyPair, permittedOf, runSsh } from '../support/ssh-client.js';
import { TunnelClient } from '../support/tunnel-client.js';

let trial: OwnGateway;
beforeAll(async () => {
  trial = await OwnGateway.start();
});

async function expectBytesBothWays(host: string, port: number): Promise<void> {
  const bytes = randomBytes(3_000_000);
  expect((await exchange(host, port, bytes)).equals(complementOf(bytes))).toBe(true);
}

describe('a credential created by POST', () => {
  it.each([
    ['ed25519', ['-t', 'ed25519']],
    ['RSA', ['-t', 'rsa', '-b', '2048']],
    ['ECDSA P-521', ['-t', 'ecdsa', '-b', '521']],
  ])('opens a tunnel with bytes both ways (%s)', async (_, kind) => {
    const key = await newKeyPair(...kind);
    const port = await freePort('127.0.0.1');
    await trial.createCredential(key, [`bind:127.0.0.1:${port}`]);
    const login = await trial.bind(key, `127.0.0.1:${port}`);
    expect(login.isOpen ? 'open' : login.output()).toBe('open');
    await expectBytesBothWays('127.0.0.1', port);
    await login.close();
  });
});

/** Binds of one login, of which some are permitted. `{port}` is a free port. */
interface Binds {
  readonly rules: readonly string[];
  readonly permitted: readonly string[];
  readonly denied: readonly string[];
}

const BINDS: readonly Binds[] = [
  {
    rules: ['bind:app.example.test'],
    permitted: ['app.example.test:{port}', 'APP.example.TEST.:0'],
    denied: [
      '127.0.1.2:{port}',
      'localhost:{port}',
      'team=blue:0',
      'other.test:0',
      'other.test:{port}',
      '127.0.0.9:{port}',
      ':{port}',
      '*:{port}',
    ],
  },
  {
    rules: ['bind:*.wild.example.test'],
    permitted: [
      'a.b.wild.example.test:{port}',
      'x.wild.example.test:0',
      'x.wild.example.test:1',
      '*.wild.example.test:0',
    ],
    denied: ['wild.example.test:0', 'evilwild.example.test:0', 'app.example.test:{port}'],
  },
  {
    rules: ['bind:127.0.0.1:*'],
    permitted: ['127.0.0.1:{port}'],
    denied: ['127.0.0.1:0', '127.1:{port}', '0.0.0.0:{port}'],
  },
  { rules: ['bind:localhost'], permitted: ['localhost:{port}', 'localhost:0'], denied: ['127.0.0.1:{port}'] },
  { rules: ['bind:[0:0::1]'], permitted: ['[::1]:{port}', '[0:0::1]:0'], denied: ['127.0.0.1:{port}', '[::2]:{port}'] },
  {
    rules: ['bind:team=blue'],
    permitted: ['team=blue:0', 'team=blue:{port}', 'team=blue:1'],
    denied: ['team=red:0', 'team=red:{port}', 'Team=blue:0', 'blue:0'],
  },
  {
    rules: [],
    permitted: ['127.0.0.1:{port}', 'team=blue:0', 'other.test:0', 'other.test:{port}'],
    denied: [':0', '127.0.0.3:{port}'],
  },
];

describe('a bind', () => {
  it.each(BINDS)('of a key with $rules: $permitted permitted, $denied denied', async ({ rules, permitted, denied }) => {
    const port = String(await freePort('127.0.0.1'));
    const here = (text: string): string => text.replace('{port}', port);
    const key = await trial.newCredential(...rules.map(here));
    const binds = [...permitted, ...denied].map(here);
    const login = await logInWithSome(trial.port, key, binds, `127.0.0.1:${trial.target.port}`);
    // ssh names IPv6 addresses without brackets.
    expect(permittedOf(login.output())).toEqual(permitted.map(here).map((bind) => bind.replace(/[[\]]/g, '')));
    await login.close();
  });

  it('to port 0 listens on the port that the client is told', async () => {
    const login = await trial.bind(await trial.newCredential('bind:app.example.test'), 'app.example.test:0');
    const port = Number(/Allocated port (\d+)/.exec(login.output())?.[1]);
    await expectBytesBothWays('127.0.1.2', port);
    await expect(exchange('127.0.0.1', port, Buffer.from('x'))).rejects.toThrow('ECONNREFUSED');
    await login.close();
    await eventually(() => expect(trial.gateway.tunnels.size).toBe(0));
    await expect(exchange('127.0.1.2', port, Buffer.from('x'))).rejects.toThrow('ECONNREFUSED');
  });

  it('outside the ports for binds is refused with a sentence, and port 0 takes one of them', async () => {
    const bindPorts = [{ min: 31_000, max: 31_009 }];
    const narrow = await OwnGateway.startFor(trial.service, trial.service.app.url, {
      bindPorts,
      gatewayHosts: [{ host: '127.0.0.1', listenAddress: '127.0.0.1' }],
    });
    const key = await trial.newCredential();
    // OpenSSH asks once for forwardings that are the same.
    const client = await TunnelClient.logIn(narrow.port, key.file, narrow.target.port);
    const ports = await Promise.all(Array.from({ length: 5 }, () => client.bind('127.0.0.1', 0)));
    expect(new Set(ports).size).toBe(5);
    for (const port of ports) expect([port >= 31_000, port <= 31_009]).toEqual([true, true]);
    const forward = (port: number) => runSsh(narrow.port, key, ['-R', `127.0.0.1:${port}:127.0.0.1:1`]);
    expect((await forward(31_010)).stderr).toContain(
      'port 31010 is not one of the ports for binds here: 31000-31009; port 0 takes a free one',
    );
    // Its user wants a listener at this machine, not a domain of this name.
    expect((await runSsh(narrow.port, key, ['-R', '31000:127.0.0.1:1'])).stderr).toContain('and not at localhost');
    const own = Number(new URL(trial.service.app.url).port);
    expect((await forward(own)).stderr).toContain(`port ${own} is used by the service`);
    client.end();
  });
});

describe('a refusal', () => {
  it.each([
    ['127.0.0.1:7001', 'it needs the rule bind:127.0.0.1:7001'],
    ['team=blue:0', 'it needs the rule bind:team=blue'],
    ['app.other.test:0', 'it needs the rule bind:app.other.test'],
    ['127.0.0.9:80', 'this gateway listens at 127.0.0.1, '],
    ['*:80', 'name the host to bind'],
  ])('of %s says why on the terminal, even if ssh then exits', async (bind, why) => {
    const key = await trial.newCredential('bind:nothing.example');
    const forwarding = ['-R', `${bind}:127.0.0.1:${trial.target.port}`];
    const { code, stderr } = await runSsh(trial.port, key, forwarding);
    expect(stderr).toContain(why);
    expect(stderr).toContain('remote port forwarding failed for listen port');
    expect(code).toBe(255);
  });

  it('is not shown by ssh -N, which has no session; the record has the rule that is missing', async () => {
    const key = await trial.newCredential('bind:nothing.example');
    const forwarding = ['-N', '-R', `team=green:0:127.0.0.1:${trial.target.port}`];
    const { code, stderr } = await runSsh(trial.port, key, forwarding);
    expect([code, stderr]).toEqual([255, expect.not.stringMatching(/rule|refused/)]);
    await eventually(async () => {
      const { body } = await trial.service.admin.get('/bind_decisions?limit=1');
      expect(body.bind_decisions[0]).toMatchObject({ reason: 'not_permitted', needs: 'bind:team=green' });
    });
  });
});

describe('nothing but remote forwarding works, even for a key without rules', () => {
  let key: KeyPair;
  beforeAll(async () => {
    key = await trial.newCredential();
  });

  it.each([
    ['a command', ['id'], 'exec request failed on channel 0'],
    ['sftp', ['-s', 'sftp'], 'subsystem request failed on channel 0'],
  ])('%s is refused', async (_, command, message) => {
    const { code, stderr } = await runSsh(trial.port, key, [], command);
    expect(stderr).toContain(message);
    expect(code).toBe(255);
  });

  it('a shell without a bind says that no program runs, and ends', async () => {
    const { code, stderr } = await runSsh(trial.port, key, []);
    expect(stderr).toContain('This gateway runs no programs');
    expect(code).toBe(1);
  });

  it.each([
    ['a port', () => `127.0.0.1:${trial.target.port}`],
    ['a Unix socket', () => trial.target.socketPath],
  ])('-L connects to nothing: %s', async (_, destination) => {
    const before = trial.target.connections();
    const port = await freePort('127.0.0.1');
    const login = await logIn(trial.port, key, '-L', `127.0.0.1:${port}:${destination()}`);
    expect(login.isOpen).toBe(true);
    expect(await exchange('127.0.0.1', port, Buffer.from('hello'))).toHaveLength(0);
    await login.close();
    expect(login.output()).toContain('open failed');
    expect(trial.target.connections()).toBe(before);
  });

  it('-R to a Unix socket is refused', async () => {
    const login = await logIn(trial.port, key, '-R', `${trial.target.socketPath}.new:127.0.0.1:${trial.target.port}`);
    expect(login.isOpen).toBe(false);
  });
});
