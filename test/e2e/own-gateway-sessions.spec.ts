import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from '../support/api-client.js';
import { complementOf, exchange } from '../support/echo-target.js';
import { edgeTo } from '../support/edges.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { OwnGateway } from '../support/own-gateway.js';
import { addAccount } from '../support/principals.js';
import { startCopy } from '../support/service.js';
import { credentialOf, newSession, ReportingGateway } from '../support/session-reports.js';
import { type SshSession, startSession } from '../support/ssh-client.js';

const BYTES = Buffer.from('bytes that a tunnel carries');

let trial: OwnGateway;
beforeAll(async () => {
  trial = await OwnGateway.start();
});

interface Listed {
  readonly id: string;
  readonly [field: string]: unknown;
}

const get = async (path: string) => (await trial.service.admin.get(path)).body;
const sessionsOf = async ({ id }: { readonly id: string }): Promise<readonly Listed[]> =>
  (await get(`/tunnel_sessions?credential_id=${id}`)).tunnel_sessions;
const tunnelsOf = async ({ id }: { readonly id: string }): Promise<readonly Listed[]> =>
  (await get(`/tunnels?credential_id=${id}`)).tunnels;

/** The session of the credential, once the service shows it. */
async function sessionOf(key: { readonly id: string }): Promise<Listed> {
  let found: Listed | undefined;
  await eventually(async () => {
    [found] = await sessionsOf(key);
    expect(found).toBeDefined();
  });
  return found as Listed;
}

/** How its session ended, once it has. */
async function recordOf(sessionId: string) {
  const text =
    'select reason, bytes_in::int, bytes_out::int, connections::int from tunnel_session_records where session_id = $1';
  let rows: readonly object[] = [];
  await eventually(async () => {
    rows = (await trial.service.pool.query(text, [sessionId])).rows;
    expect(rows).not.toEqual([]);
  });
  return rows;
}

const whenBound = (ssh: SshSession) => eventually(() => expect(ssh.output()).toMatch(/bound .*\r?\n/), 10_000);
const forwardOf = (bind: string): string => `${bind}:127.0.0.1:${trial.target.port}`;

describe('the service shows', () => {
  it('a login and its binds within a second, with the port that a bind got', async () => {
    const key = await trial.newCredential();
    const ssh = startSession(trial.port, key, forwardOf('127.0.0.1:0'), forwardOf('team=blue,app=web:0'));
    await whenBound(ssh);
    const bound = performance.now();
    await eventually(async () => expect(await tunnelsOf(key)).toHaveLength(2));
    expect(performance.now() - bound).toBeLessThan(1_000);
    const session = await sessionOf(key);
    expect(session).toMatchObject({
      credential: { id: key.id },
      ip: '127.0.0.1',
      agent_version: expect.stringMatching(/^SSH-2\.0-OpenSSH/),
      fingerprint: expect.stringMatching(/^SHA256:/),
      gateway_id: expect.stringMatching(/^gw_/),
    });
    const port = /bound 127\.0\.0\.1:(\d+)/.exec(ssh.output())?.[1];
    const labels = [{ label: { key: 'team', value: 'blue' } }, { label: { key: 'app', value: 'web' } }];
    const targets = (await tunnelsOf(key)).map((tunnel) => tunnel.targets);
    expect(targets).toEqual(expect.arrayContaining([[{ address: `127.0.0.1:${port}` }], labels]));
    ssh.kill();
  });

  it('what a tunnel carried, at the next heartbeat and at its end', async () => {
    const key = await trial.newCredential();
    const ssh = startSession(trial.port, key, forwardOf(`127.0.0.1:${await freePort('127.0.0.1')}`));
    await whenBound(ssh);
    const { id } = await sessionOf(key);
    const port = Number(/bound 127\.0\.0\.1:(\d+)/.exec(ssh.output())?.[1]);
    expect(await exchange('127.0.0.1', port, BYTES)).toEqual(complementOf(BYTES));
    const used = { bytes_in: BYTES.length, bytes_out: BYTES.length, connections: 1 };
    await eventually(async () => expect(await sessionsOf(key)).toMatchObject([used]), 6_000);
    expect(await tunnelsOf(key)).toMatchObject([used]);
    await exchange('127.0.0.1', port, BYTES);
    ssh.kill();
    const all = { bytes_in: 2 * BYTES.length, bytes_out: 2 * BYTES.length, connections: 2 };
    expect(await recordOf(id)).toEqual([{ reason: expect.any(String), ...all }]);
  });

  it('no longer within a second a client that was killed', async () => {
    const key = await trial.newCredential();
    const ssh = startSession(trial.port, key, forwardOf('team=blue:0'));
    await whenBound(ssh);
    const { id } = await sessionOf(key);
    ssh.kill();
    const killed = await ssh.ended;
    await eventually(async () => expect(await sessionsOf(key)).toEqual([]));
    expect(performance.now() - killed).toBeLessThan(1_000);
    expect(await tunnelsOf(key)).toEqual([]);
    expect(await recordOf(id)).toMatchObject([{ reason: 'lost' }]);
  });
});

describe('a session that somebody stops', () => {
  it.each([
    ['stop', 'stopped'],
    ['restart', 'restarted'],
  ])('by %s ends within a second, and its client reads who did it', async (act, reason) => {
    const key = await trial.newCredential();
    const ssh = startSession(trial.port, key, forwardOf('team=blue:0'));
    await whenBound(ssh);
    const { id } = await sessionOf(key);
    const stopped = performance.now();
    expect(await trial.service.admin.post(`/tunnel_sessions/${id}/${act}`, {})).toMatchObject({ status: 204 });
    expect((await ssh.ended) - stopped).toBeLessThan(1_000);
    expect(ssh.output()).toMatch(new RegExp(`closed: \\S+.* ${reason} this session`));
    expect(await recordOf(id)).toMatchObject([{ reason }]);
    expect(await sessionsOf(key)).toEqual([]);
  });

  it('in another account, where a gateway of its own reports the same id to another instance, goes on', async () => {
    const key = await trial.newCredential();
    const ssh = startSession(trial.port, key, forwardOf('team=blue:0'));
    await whenBound(ssh);
    const { id } = await sessionOf(key);
    const mallory = await addAccount(trial.service);
    const { accountId } = mallory;
    const token = 'token-of-the-gateway-of-mallory';
    const copy = await startCopy(trial.service, { gatewayTokens: [{ name: 'hers', accountId, token }] });
    const same = newSession(await credentialOf(trial.service, mallory), { id });
    expect((await new ReportingGateway(copy.gateway.as(token)).whole({ sessions: [same] })).body.ignored).toEqual([]);
    const hers = new ApiClient(copy.app.url, mallory.client.token);
    expect((await hers.post(`/tunnel_sessions/${id}/stop`, {})).status).toBe(204);
    expect(await Promise.race([ssh.ended, sleep(1_500)])).toBeUndefined();
    await trial.service.admin.post(`/tunnel_sessions/${id}/stop`, {});
    await ssh.ended;
    await copy.stop();
  });
});

it('a connection through an edge has a record with its client, its tunnel and its bytes', async () => {
  const key = await trial.newCredential('bind:*=*');
  const ssh = startSession(trial.port, key, forwardOf('recorded=yes:0'));
  await whenBound(ssh);
  const session = await sessionOf(key);
  const { id, port, hostport } = await edgeTo(trial.service.admin, { recorded: 'yes' });
  const visitor = connect(port, '127.0.0.1').on('error', () => undefined);
  await eventually(async () => expect(await exchange('127.0.0.1', port, BYTES)).toEqual(complementOf(BYTES)));
  visitor.destroy();
  // The gateway reports a bind within a second.
  await eventually(async () => expect(await tunnelsOf(key)).toHaveLength(1));
  const [tunnel] = await tunnelsOf(key);
  const text = `select account_id, client, hostport, session_id, tunnel_id, credential_id, reason, bytes_in::int, bytes_out::int,
      started_at <= ended_at as is_in_order from edge_connection_records where edge_id = $1`;
  await eventually(async () => {
    const { rows } = await trial.service.pool.query(text, [id]);
    expect(rows).toContainEqual({
      account_id: expect.stringMatching(/^ac_/),
      client: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      hostport,
      session_id: session.id,
      tunnel_id: tunnel?.id,
      credential_id: key.id,
      reason: 'closed',
      bytes_in: BYTES.length,
      bytes_out: BYTES.length,
      is_in_order: true,
    });
  });
  ssh.kill();
});

it('a gateway that stops has no session left at the service', async () => {
  const last = await OwnGateway.startFor(trial.service, trial.service.app.url, {});
  const key = await last.newCredential();
  const ssh = startSession(last.port, key, forwardOf('team=blue:0'));
  await whenBound(ssh);
  const { id } = await sessionOf(key);
  await last.gateway.stop();
  expect(await sessionsOf(key)).toEqual([]);
  expect(await recordOf(id)).toMatchObject([{ reason: 'gateway_stopped' }]);
});
