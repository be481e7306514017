import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import ssh2, { type Client, type ParsedKey } from 'ssh2';
import { loadHostKeys } from '../../src/gateway/ssh/host-key.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { OwnGateway } from '../support/own-gateway.js';
import { type KeyPair, logIn, newKeyPair, runSsh } from '../support/ssh-client.js';

const run = promisify(execFile);

const loadHostKey = (file: string) => loadHostKeys(file, () => undefined)[0];

let trial: OwnGateway;
let known: KeyPair;
beforeAll(async () => {
  trial = await OwnGateway.start({ loginGraceMs: 5_000 });
  known = await trial.newCredential('bind:team=known');
});

const parsed = ({ file }: KeyPair): ParsedKey => {
  const key = ssh2.utils.parseKey(readFileSync(file));
  if (key instanceof Error) throw key;
  return key;
};

/** Offers public keys whose private keys it may not have: `sign` makes what it sends as a signature, if anything. */
class OfferingAgent extends ssh2.BaseAgent<ParsedKey> {
  constructor(
    private readonly keys: readonly ParsedKey[],
    private readonly makeSignature: (key: ParsedKey, data: Buffer) => Buffer | undefined,
  ) {
    super();
  }

  override getIdentities(callback: (error: undefined, keys: ParsedKey[]) => void): void {
    callback(undefined, [...this.keys]);
  }

  override sign(...args: unknown[]): void {
    const [key, data] = args as [ParsedKey, Buffer];
    const callback = args.at(-1) as (error?: Error, signature?: Buffer) => void;
    const signature = this.makeSignature(key, data);
    if (signature === undefined) callback(new Error('no private key'));
    else callback(undefined, signature);
  }
}

interface Attempt {
  readonly client: Client;
  readonly isIn: boolean;
  /** Types of the messages of the gateway since the log-in began, and when the refusal came. */
  readonly answers: readonly string[];
  readonly tookMs: number;
}

async function attempt(agent: OfferingAgent, username = 'any'): Promise<Attempt> {
  const client = new ssh2.Client();
  const answers: string[] = [];
  const debug = (line: string): void =>
    void answers.push(...(/Inbound: Received (USERAUTH_\w+)/.exec(line)?.slice(1) ?? []));
  const started = performance.now();
  client.connect({ host: '127.0.0.1', port: trial.port, username, agent, debug, authHandler: ['agent'] });
  // Each agent that cannot sign is an error, and so is the last refusal.
  client.on('error', () => undefined);
  const isIn = await new Promise<boolean>((resolve) =>
    client.once('ready', () => resolve(true)).once('close', () => resolve(false)),
  );
  return { client, isIn, answers, tookMs: performance.now() - started };
}

const isBound = ({ client }: Attempt, label: string): Promise<boolean> =>
  new Promise((resolve) => client.forwardIn(label, 0, (error) => resolve(error === undefined || error === null)));

const signedBy = (own: ParsedKey) => (key: ParsedKey, data: Buffer) =>
  key.getPublicSSH().equals(own.getPublicSSH()) ? own.sign(data) : undefined;

describe('the key that signed is the identity', () => {
  it('a query of a known key before the signature of an unknown one lets nobody in', async () => {
    const own = parsed(await newKeyPair());
    const { isIn, answers } = await attempt(new OfferingAgent([parsed(known), own], signedBy(own)));
    expect(isIn).toBe(false);
    expect(answers.filter((answer) => answer === 'USERAUTH_PK_OK')).toHaveLength(2);
  });

  it.each([['before'], ['after']])(
    'a query of another known key %s the signature gives none of its rights',
    async (order) => {
      const own = parsed(await trial.newCredential('bind:team=own'));
      const keys = order === 'before' ? [parsed(known), own] : [own, parsed(known)];
      const login = await attempt(new OfferingAgent(keys, signedBy(own)));
      expect(login.isIn).toBe(true);
      expect([await isBound(login, 'team=known'), await isBound(login, 'team=own')]).toEqual([false, true]);
      login.client.end();
    },
  );

  it('the user name counts for nothing', async () => {
    const own = parsed(known);
    for (const name of ['root', 'sshcr_x', '']) {
      const login = await attempt(new OfferingAgent([own], signedBy(own)), name || 'x');
      expect([login.isIn, await isBound(login, 'team=known')]).toEqual([true, true]);
      login.client.end();
    }
  });
});

describe('who has no known key learns nothing', () => {
  it('the query of a known key is answered as that of an unknown one', async () => {
    const unknown = parsed(await newKeyPair());
    const [first, second] = [parsed(known), unknown].map((key) => attempt(new OfferingAgent([key], () => undefined)));
    expect((await first)?.answers).toEqual((await second)?.answers);
  });

  it('a wrong signature of a known key is answered like a right one of an unknown key, and as late', async () => {
    const unknown = parsed(await newKeyPair());
    const wrong = await attempt(new OfferingAgent([parsed(known)], (_, data) => unknown.sign(data)));
    const stranger = await attempt(new OfferingAgent([unknown], (_, data) => unknown.sign(data)));
    expect([wrong.isIn, stranger.isIn]).toEqual([false, false]);
    expect(wrong.answers).toEqual(stranger.answers);
    expect(Math.min(wrong.tookMs, stranger.tookMs)).toBeGreaterThan(99);
  });

  it('the service is asked about no key that has not signed', async () => {
    const answered = async () => (await trial.metrics()).match(/logins_total\{outcome="(?!no_signature).*/g);
    const before = await answered();
    await attempt(new OfferingAgent([parsed(known)], () => undefined));
    expect(await answered()).toEqual(before);
  });

  it.each([
    ['a password', ['-o', 'PreferredAuthentications=password,keyboard-interactive']],
    ['an unknown key', []],
  ])('%s is refused as everything is', async (_, options) => {
    const { code, stderr } = await runSsh(trial.port, await newKeyPair(), [...options, '-N']);
    expect(stderr).toContain('Permission denied (publickey).');
    expect(code).toBe(255);
  });
});

describe('an agent that asks a person for each signature', () => {
  /** Logs in with an agent that has three unknown keys before a known one. Returns how often a person was asked. */
  async function askedBy(gateway: OwnGateway): Promise<number> {
    const folder = await mkdtemp(join(tmpdir(), 'tas-agent-'));
    stopAtEnd(() => rm(folder, { recursive: true, force: true }));
    const [socket, asked, ask] = [join(folder, 'agent'), join(folder, 'asked'), join(folder, 'ask')];
    writeFileSync(asked, '');
    writeFileSync(ask, `#!/bin/sh\necho asked >> '${asked}'\n`, { mode: 0o755 });
    const env = { PATH: process.env.PATH, SSH_AUTH_SOCK: socket, SSH_ASKPASS: ask, SSH_ASKPASS_REQUIRE: 'force' };
    const agent = spawn('ssh-agent', ['-D', '-a', socket], { env: { ...env, DISPLAY: ':9' }, stdio: 'ignore' });
    stopAtEnd(async () => void agent.kill());
    for (const { file } of await Promise.all([1, 2, 3].map(() => newKeyPair()))) {
      await eventually(() => run('ssh-add', ['-q', '-c', file], { env }));
    }
    await run('ssh-add', ['-q', known.file], { env });
    const options = ['StrictHostKeyChecking=no', `UserKnownHostsFile=${folder}/hosts`, 'ExitOnForwardFailure=yes'];
    const forward = ['-R', 'team=known:0:127.0.0.1:1'];
    const args = ['-N', '-p', String(gateway.port), ...options.flatMap((one) => ['-o', one]), ...forward, '127.0.0.1'];
    const client = spawn('ssh', args, { env, stdio: 'ignore' });
    stopAtEnd(async () => void client.kill());
    await eventually(() => expect(gateway.gateway.tunnels.size).toBe(1), 10_000);
    client.kill();
    return readFileSync(asked, 'utf8').split('\n').length - 1;
  }

  it.each([
    ['refuse', 0],
    ['sign', 3],
  ] as const)(
    'with GATEWAY_UNKNOWN_KEYS=%s does so for %i keys that the service does not know',
    async (unknownKeys, times) => {
      const gateway = await OwnGateway.startFor(trial.service, trial.service.app.url, { unknownKeys });
      expect(await askedBy(gateway)).toBe(times);
    },
  );
});

describe('what counts as a key', () => {
  it('a certificate of a known authority does not', async () => {
    const own = await newKeyPair();
    await run('ssh-keygen', ['-q', '-s', known.file, '-I', 'someone', '-n', 'tunnel', `${own.file}.pub`]);
    const { stderr } = await runSsh(trial.port, own, ['-N', '-o', `CertificateFile=${own.file}-cert.pub`]);
    expect(stderr).toContain('Offering public key');
    expect(stderr).toContain('ED25519-CERT');
    expect(stderr).toContain('Permission denied (publickey).');
  });

  it('an RSA signature with SHA-1 does not', async () => {
    const rsa = await newKeyPair('-t', 'rsa', '-b', '2048');
    await trial.createCredential(rsa, []);
    const sha1 = await runSsh(trial.port, rsa, ['-N', '-o', 'PubkeyAcceptedAlgorithms=ssh-rsa']);
    expect(sha1.stderr).toContain('Permission denied (publickey).');
    const login = await logIn(trial.port, rsa, '-R', 'team=rsa:0:127.0.0.1:1');
    expect(login.isOpen).toBe(true);
    await login.close();
  });

  it.each([
    ['KexAlgorithms=diffie-hellman-group14-sha1', 'no matching key exchange method found'],
    ['Ciphers=aes128-cbc', 'no matching cipher found'],
    ['HostKeyAlgorithms=ssh-rsa', 'no matching host key type found'],
    ['HostKeyAlgorithms=rsa-sha2-512', 'no matching host key type found'],
    ['MACs=hmac-sha1,hmac-sha1-etm@openssh.com', 'no matching MAC found', 'Ciphers=aes128-ctr'],
  ])('%s is not offered', async (option, message, more = option) => {
    const { stderr } = await runSsh(trial.port, known, ['-N', '-o', option, '-o', more]);
    expect(stderr).toContain(message);
  });
});

describe('a connection that does not log in', () => {
  it('is closed after the time for it', async () => {
    const trialOfGrace = await OwnGateway.startFor(trial.service, trial.service.app.url, { loginGraceMs: 300 });
    const socket = connect(trialOfGrace.port, '127.0.0.1').resume();
    await once(socket, 'close');
    expect(socket.bytesRead).toBeGreaterThan(0);
  });

  it('takes one of the places for strangers, and none once it has logged in', async () => {
    const small = await OwnGateway.startFor(trial.service, trial.service.app.url, { maxStrangers: 1 });
    const login = await logIn(small.port, known, '-R', 'team=known:0:127.0.0.1:1');
    const stranger = connect(small.port, '127.0.0.1').on('error', () => undefined);
    await once(stranger, 'data');
    // A stranger of the same source does not replace it before it had its time.
    await once(connect(small.port, '127.0.0.1').resume(), 'close');
    expect([login.isOpen, stranger.destroyed]).toEqual([true, false]);
    stranger.destroy();
    await once(stranger, 'close');
    const next = connect(small.port, '127.0.0.1');
    await once(next, 'data');
    expect(await small.metrics()).toMatch(/refused_connections_total\{reason="full"\} 1/);
    next.destroy();
    await login.close();
  });

  it('has ten attempts', async () => {
    const keys = await Promise.all(Array.from({ length: 12 }, async () => parsed(await newKeyPair())));
    const { answers } = await attempt(new OfferingAgent(keys, (key, data) => key.sign(data)));
    // The tenth refusal ends the connection.
    expect(answers.filter((answer) => answer === 'USERAUTH_FAILURE')).toHaveLength(9);
  });

  it('may ask about 50 keys, and not for ever', async () => {
    const keys = Array<ParsedKey>(200).fill(parsed(await newKeyPair()));
    const { answers } = await attempt(new OfferingAgent(keys, () => undefined));
    expect(answers.filter((answer) => answer === 'USERAUTH_PK_OK').length).toBeLessThan(60);
  });

  it('of an agent with too many keys ends with the way out, for ssh and in the log', async () => {
    const pairs = await Promise.all(Array.from({ length: 11 }, () => newKeyPair()));
    const { stderr } = await runSsh(
      trial.port,
      known,
      pairs.flatMap(({ file }) => ['-o', `IdentityFile=${file}`]),
    );
    expect(stderr).toMatch(/Received disconnect from .*: too many keys were offered; use -o IdentitiesOnly=yes -i KEY/);
    const line = { reason: 'too_many_keys', message: expect.stringContaining('use -o IdentitiesOnly=yes -i KEY') };
    expect(trial.log).toContainEqual(expect.objectContaining(line));
  });
});

describe('the host key', () => {
  it('can be one of ssh-keygen, and has the fingerprint that ssh-keygen prints', async () => {
    for (const kind of [
      ['-t', 'ed25519'],
      ['-t', 'ecdsa', '-b', '384'],
    ]) {
      const { file } = await newKeyPair(...kind);
      const { stdout } = await run('ssh-keygen', ['-l', '-f', file]);
      expect(stdout).toContain(loadHostKey(file).fingerprint);
    }
  });

  it('is what ssh sees', async () => {
    const { stderr } = await runSsh(trial.port, await newKeyPair(), ['-N']);
    expect(stderr).toContain(`Server host key: ssh-ed25519 ${trial.gateway.hostKeyFingerprint}`);
  });

  it('is an ECDSA key for clients without Ed25519, which log in', async () => {
    const login = await logIn(
      trial.port,
      known,
      '-o',
      'HostKeyAlgorithms=ecdsa-sha2-nistp256',
      '-R',
      'team=known:0:x:1',
    );
    expect([login.isOpen, login.output()]).toEqual([
      true,
      expect.stringContaining('Server host key: ecdsa-sha2-nistp256'),
    ]);
    await login.close();
  });
});

it('a port that is in use is an error with a name', async () => {
  const port = await freePort('127.0.0.1');
  const settings = { sshListen: { host: '127.0.0.1', port } };
  await OwnGateway.startFor(trial.service, trial.service.app.url, settings);
  await expect(OwnGateway.startFor(trial.service, trial.service.app.url, settings)).rejects.toThrow(
    'GATEWAY_LISTEN cannot be used',
  );
});

it('a wrong token is an error with the way out', async () => {
  const wrong = { gatewayToken: 'a-token-that-the-service-does-not-know' };
  await expect(OwnGateway.startFor(trial.service, trial.service.app.url, wrong)).rejects.toThrow(
    'set GATEWAY_TOKEN to one of the GATEWAY_TOKENS',
  );
});
