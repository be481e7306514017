import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { authorizedKeys } from '../../src/api/gateway-api/binds/authorized-keys.js';
import { ALL_FREE } from '../../src/api/reservations/reservation.js';
import { expireNow } from '../support/expire.js';
import { GATEWAY_TOKEN, GatewayTrial } from '../support/gateway-trial.js';
import { stopAtEnd } from '../support/leftovers.js';
import { logIn, newKeyPair } from '../support/ssh-client.js';
import { startSshdGateway } from '../support/sshd-gateway.js';

let trial: GatewayTrial;
beforeAll(async () => {
  trial = await GatewayTrial.start();
});

const FUTURE = '2099-12-31T23:59:59Z';
const ELSEWHERE = { cidrs: ['192.0.2.0/24', '2001:db8::/32'] };
const HERE = { cidrs: ['192.0.2.0/24', '127.0.0.0/8'] };

const expire = async ({ id }: { readonly id: string }, expires_at: string): Promise<void> => {
  expect(await trial.admin.put(`/ssh_credentials/${id}/expiry`, { expires_at })).toMatchObject({ status: 200 });
};
const restrict = async (id: string, to: object): Promise<void> => {
  expect(await trial.admin.put(`/ssh_credentials/${id}/source_restriction`, to)).toMatchObject({ status: 200 });
};

describe('a credential', () => {
  it('that expires lets its key in until then, and not afterwards', async () => {
    const key = await trial.newCredential('bind:app.example.test');
    await expire(key, FUTURE);
    await trial.expectTunnel(key, 'app.example.test');
    expect(await expireNow(trial.admin, `/ssh_credentials/${key.id}`)).toMatchObject({ status: 200 });
    await trial.expectNotLetIn(key);
  });

  it('with a source restriction takes nothing from the other credentials of its key, and gives nothing to other clients', async () => {
    const key = await trial.newCredential('bind:app.example.test');
    await restrict(key.id, ELSEWHERE);
    await trial.createCredential(key, ['bind:*.wild.example.test']);
    await trial.expectTunnel(key, 'a.wild.example.test');
    await trial.expectDenied(key, 'app.example.test:7001');
    await restrict(key.id, HERE);
    await trial.expectTunnel(key, 'a.wild.example.test');
    await trial.expectTunnel(key, 'app.example.test');
  });
});

it('sshd itself refuses a line after its expiry-time, in UTC, and takes the next one', async () => {
  const key = await newKeyPair();
  const [keyType = '', keyBlob = ''] = key.publicKey.split(' ');
  const lineOf = (acl: string[], expiresAt: string | null): string =>
    authorizedKeys([{ id: 'sshcr_1', version: 1, keyType, keyBlob, acl, sources: null, expiresAt }], ALL_FREE);
  const utc = (seconds: number): string =>
    new Date(Date.now() + seconds * 1000).toISOString().replace(/[-:T]|\..*/g, '');
  let lines = '';
  const service = createServer((_, response) => response.end(lines)).listen(0, '127.0.0.1');
  stopAtEnd(async () => void service.close());
  await new Promise((resolve) => service.once('listening', resolve));
  const { port } = service.address() as AddressInfo;
  const gateway = await startSshdGateway({ service: `http://127.0.0.1:${port}`, token: GATEWAY_TOKEN, hosts: [] });
  const isLetIn = async (text: string): Promise<boolean> => {
    lines = text;
    const login = await logIn(gateway.port, key);
    await login.close();
    return login.isOpen;
  };
  expect(await isLetIn(lineOf([], utc(120)))).toBe(true);
  expect(await isLetIn(lineOf([], utc(-2)))).toBe(false);
  await gateway.logged('Refused by key options');
  expect(await isLetIn(lineOf([], utc(-2)) + lineOf(['bind:k=v'], null))).toBe(true);
});
