import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { complementOf, exchange } from '../support/echo-target.js';
import { edgeTo } from '../support/edges.js';
import { eventually } from '../support/eventually.js';
import { type GatewayLine, GatewayProcess } from '../support/gateway-process.js';
import { RawSshClient } from '../support/raw-ssh-client.js';
import { type KeyPair, newKeyPair, runSsh } from '../support/ssh-client.js';
import { bind } from '../support/ssh-messages.js';
import { TunnelClient } from '../support/tunnel-client.js';

const run = promisify(execFile);
const BYTES = Buffer.from('bytes that a tunnel carries');
/** Only servers send it. */
const USERAUTH_SUCCESS = 52;

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await GatewayProcess.start();
});

const fingerprintOf = async ({ file }: KeyPair): Promise<string> =>
  (await run('ssh-keygen', ['-lf', `${file}.pub`])).stdout.split(' ')[1] ?? '';

/** The lines of one kind with these fields, once there is one. */
async function linesWith(fields: object, least = 1): Promise<readonly GatewayLine[]> {
  const found = (): GatewayLine[] =>
    gateway.lines.filter((line) => Object.entries(fields).every(([name, value]) => line[name] === value));
  await eventually(() => expect(found().length).toBeGreaterThanOrEqual(least), 5_000);
  return found();
}

describe('a login', () => {
  it('that is accepted has a line with its source, its key, its account and its credential', async () => {
    const key = await gateway.newCredential('bind:*=*');
    const client = await TunnelClient.logIn(gateway.port, key.file, gateway.target.port);
    const fingerprint = await fingerprintOf(key);
    expect(await linesWith({ event: 'login_accepted', fingerprint })).toEqual([
      expect.objectContaining({
        level: 'info',
        source: '127.0.0.1',
        source_port: expect.any(Number),
        key_type: 'ssh-ed25519',
        account: expect.stringMatching(/^ac_/),
        credentials: key.id,
        client: expect.stringMatching(/^SSH-2\.0-/),
      }),
    ]);
    client.end();
    const [ended] = await linesWith({ event: 'connection_ended', fingerprint });
    expect(ended).toMatchObject({ source: '127.0.0.1', reason: 'client', tunnels: 0 });
    expect([ended?.ms, ended?.bytes_in, ended?.bytes_out].map(Number).every((count) => count > 0)).toBe(true);
  });

  it('with a key that the service does not know has a line with the fingerprint that ssh-keygen prints', async () => {
    const key = await newKeyPair();
    await runSsh(gateway.port, key, ['-N']);
    const fingerprint = await fingerprintOf(key);
    expect(await linesWith({ event: 'login_refused', fingerprint })).toEqual([
      expect.objectContaining({ level: 'warn', source: '127.0.0.1', reason: 'unknown_key', key_type: 'ssh-ed25519' }),
    ]);
  });

  it('whose client leaves before its answer has a line, and only one', async () => {
    const key = await newKeyPair();
    const client = await RawSshClient.connect(gateway.port);
    await client.begin();
    client.sign(key.file);
    client.socket.end();
    await client.closed;
    const fingerprint = await fingerprintOf(key);
    await linesWith({ event: 'login_refused', fingerprint, reason: 'unknown_key' });
    await sleep(200);
    expect(gateway.lines.filter((line) => line.fingerprint === fingerprint)).toHaveLength(1);
  });

  it('by a password has a line that says that there was no key', async () => {
    const options = ['-N', '-o', 'PreferredAuthentications=password,keyboard-interactive'];
    await runSsh(gateway.port, await newKeyPair(), options);
    const [line] = await linesWith({ event: 'login_refused', reason: 'no_key' });
    expect(line).not.toHaveProperty('fingerprint');
  });

  it('with a signature of SHA-1 has a line that says that the gateway takes none', async () => {
    const rsa = await newKeyPair('-t', 'rsa', '-b', '2048');
    await runSsh(gateway.port, rsa, ['-N', '-o', 'PubkeyAcceptedAlgorithms=ssh-rsa']);
    const [line] = await linesWith({ event: 'login_refused', fingerprint: await fingerprintOf(rsa) });
    expect(line).toMatchObject({ reason: 'unusable_key', key_type: 'ssh-rsa' });
  });

  it('of an ordinary client has no line about the question before its key', async () => {
    const before = gateway.lines.filter(({ event }) => event === 'login_refused').length;
    const key = await gateway.newCredential('bind:*=*');
    await runSsh(gateway.port, key, []);
    await linesWith({ event: 'connection_ended', fingerprint: await fingerprintOf(key) });
    expect(gateway.lines.filter(({ event }) => event === 'login_refused')).toHaveLength(before);
  });
});

describe('a tunnel', () => {
  it('has a line when it opens, and one when its client leaves, with what it carried', async () => {
    const key = await gateway.newCredential('bind:127.0.0.1');
    const client = await TunnelClient.logIn(gateway.port, key.file, gateway.target.port);
    const port = await client.bind('127.0.0.1', 0);
    const about = { target: `127.0.0.1:${port}`, credential: key.id };
    expect(await linesWith({ event: 'tunnel_opened', ...about })).toHaveLength(1);
    for (let n = 0; n < 2; n += 1) expect(await exchange('127.0.0.1', port, BYTES)).toEqual(complementOf(BYTES));
    client.end();
    expect(await linesWith({ event: 'tunnel_ended', ...about })).toEqual([
      expect.objectContaining({
        ...{ source: '127.0.0.1', reason: 'client', visitors: 2 },
        ...{ bytes_in: 2 * BYTES.length, bytes_out: 2 * BYTES.length },
      }),
    ]);
  });

  it('that its client cancels ends once its last connection is over', async () => {
    const key = await gateway.newCredential('bind:127.0.0.1');
    const client = await TunnelClient.logIn(gateway.port, key.file, gateway.target.port);
    const port = await client.bind('127.0.0.1', 0);
    const visitor = connect(port, '127.0.0.1');
    visitor.write(BYTES);
    await once(visitor, 'data');
    await client.cancel('127.0.0.1', port);
    expect(gateway.lines.filter(({ event, credential }) => event === 'tunnel_ended' && credential === key.id)).toEqual(
      [],
    );
    visitor.end();
    const [line] = await linesWith({ event: 'tunnel_ended', credential: key.id });
    expect(line).toMatchObject({ reason: 'cancelled', bytes_in: BYTES.length, bytes_out: BYTES.length, visitors: 1 });
    client.end();
  });

  it('of a client that breaks the protocol ends for this reason, and so does the connection', async () => {
    const key = await gateway.newCredential('bind:*=*');
    const client = await RawSshClient.logIn(gateway.port, key.file);
    const bound = client.next('REQUEST_SUCCESS');
    client.send(bind('team=blue', 0));
    await bound;
    client.send(Buffer.from([USERAUTH_SUCCESS]));
    const reason = 'protocol';
    expect(await linesWith({ event: 'tunnel_ended', credential: key.id, reason })).toHaveLength(1);
    const fingerprint = await fingerprintOf(key);
    expect(await linesWith({ event: 'connection_ended', fingerprint, reason, tunnels: 1 })).toHaveLength(1);
  });

  it('that loses its right has a line with the reason', async () => {
    const key = await gateway.newCredential('bind:*=*');
    const client = await TunnelClient.logIn(gateway.port, key.file, gateway.target.port);
    await client.bind('team=blue', 0);
    await gateway.service.admin.delete(`/ssh_credentials/${key.id}`);
    const lines = await linesWith({ event: 'tunnel_ended', credential: key.id });
    expect(lines).toEqual([expect.objectContaining({ target: 'team=blue', reason: 'unknown_key' })]);
    const fingerprint = await fingerprintOf(key);
    expect((await linesWith({ event: 'connection_ended', fingerprint }))[0]).toMatchObject({ reason: 'no_bind' });
  });
});

describe('a connection to an edge', () => {
  const edgeOf = async (labels: Readonly<Record<string, string>>) => {
    const edge = await edgeTo(gateway.service.admin, labels);
    await linesWith({ hostport: edge.hostport, edge: edge.id });
    return edge;
  };

  it('has a line when it is carried, and one when it ends', async () => {
    const { hostport, port, id } = await edgeOf({ app: 'web' });
    const key = await gateway.newCredential('bind:*=*');
    const client = await TunnelClient.logIn(gateway.port, key.file, gateway.target.port);
    await client.bind('app=web', 0);
    expect(await exchange('127.0.0.1', port, BYTES)).toEqual(complementOf(BYTES));
    const about = { hostport, edge: id, source: '127.0.0.1' };
    expect(await linesWith({ event: 'edge_connection_opened', ...about })).toHaveLength(1);
    expect(await linesWith({ event: 'edge_connection_ended', ...about })).toEqual([
      expect.objectContaining({
        ...{ account: expect.stringMatching(/^ac_/), ms: expect.any(Number) },
        ...{ bytes_in: BYTES.length, bytes_out: BYTES.length },
      }),
    ]);
    client.end();
  });

  it('that nobody takes has a line with the reason, and no other', async () => {
    const { hostport, port } = await edgeOf({ app: 'none' });
    connect(port, '127.0.0.1').on('error', () => undefined);
    const [refused] = await linesWith({ event: 'edge_connection_refused', hostport });
    expect(refused).toMatchObject({ outcome: 'no_tunnel', source: '127.0.0.1' });
    expect(
      gateway.lines.filter((line) => String(line.event).startsWith('edge_') && line.hostport === hostport),
    ).toEqual([refused]);
  });
});

describe('a flood', () => {
  /** Characters that the gateway writes in a second while this is done each second. */
  const writtenPerSecond = async (act: () => void, seconds: number): Promise<number> => {
    const before = gateway.output().length;
    for (let second = 0; second < seconds; second += 1) {
      act();
      await sleep(1_000);
    }
    return (gateway.output().length - before) / seconds;
  };

  it('of refused logins from one source writes less than 5 KB a second, and hides nobody else', async () => {
    const key = await newKeyPair();
    const guess = async (): Promise<void> => {
      const client = await RawSshClient.connect(gateway.port, '127.0.0.9');
      await client.refused(key.file, 9);
    };
    const refusals = async (): Promise<number> =>
      Number(/logins_total\{outcome="unknown_key"\} (\d+)/.exec(await gateway.metrics())?.[1] ?? 0);
    const before = await refusals();
    const written = writtenPerSecond(() => {
      for (let n = 0; n < 10; n += 1) guess().catch(() => undefined);
    }, 4);
    await sleep(1_500);
    const other = await newKeyPair();
    const client = await RawSshClient.connect(gateway.port, '127.0.0.10');
    await client.refused(other.file, 1);
    expect(await linesWith({ source: '127.0.0.10', fingerprint: await fingerprintOf(other) })).toHaveLength(1);
    expect(await written).toBeLessThan(5_000);
    await eventually(async () => expect((await refusals()) - before).toBeGreaterThan(100), 20_000);
    expect((await linesWith({ level: 'warn', of: '127.0.0.9' })).length).toBeGreaterThan(0);
  });
});

it('a gateway that stops says so of each tunnel and connection', async () => {
  const key = await gateway.newCredential('bind:*=*');
  const client = await TunnelClient.logIn(gateway.port, key.file, gateway.target.port);
  await client.bind('team=blue', 0);
  gateway.child.kill('SIGTERM');
  await once(gateway.child, 'close');
  const stopped = gateway.lines.filter(({ reason }) => reason === 'gateway_stopped').map(({ event }) => event);
  expect(stopped.sort()).toEqual(['connection_ended', 'tunnel_ended']);
  expect(gateway.child.exitCode).toBe(0);
});
