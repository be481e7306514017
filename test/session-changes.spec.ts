import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type TestCredential, upload } from './support/decisions.js';
import { EventStream } from './support/event-stream.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { GATEWAY, type Service, startService } from './support/service.js';
import { endOf, newSession, ReportingGateway } from './support/session-reports.js';

let service: Service;
let tenant: TestPrincipal;
let credential: TestCredential & { readonly accountId: string };
let gateway: ReportingGateway;

beforeAll(async () => {
  service = await startService(GATEWAY);
});
afterAll(() => service.stop());
beforeEach(async () => {
  tenant = await addAccount(service);
  credential = await credentialOf(tenant);
  gateway = new ReportingGateway(service.gateway);
});

const credentialOf = async ({ client, accountId }: TestPrincipal) => ({
  ...(await upload(service, client, { public_key: newPublicKey() })),
  accountId,
});

async function follow({ client }: TestPrincipal): Promise<EventStream> {
  const stream = await EventStream.open(`${service.app.url}/tunnel_sessions/changes`, client.token ?? '');
  expect(stream.response.statusCode).toBe(200);
  await stream.until(1);
  return stream;
}
const told = ({ messages }: EventStream) => messages.slice(1).map(({ event, data }) => [event, data.session_id]);
/** The bound of the issue, from the report to the news. */
const WITHIN_MS = 5_000;

describe('the news of sessions', () => {
  it('tell what opens and what ends, within seconds and with the reason', async () => {
    const stream = await follow(tenant);
    expect(stream.messages).toMatchObject([{ id: 0, event: 'ready', data: {} }]);
    const [one, two] = [newSession(credential), newSession(credential)];
    await gateway.whole({ sessions: [one, two] });
    let startedAt = performance.now();
    await stream.until(3);
    expect(performance.now() - startedAt).toBeLessThan(WITHIN_MS);
    expect(told(stream).sort()).toEqual(
      [
        ['opened', one.id],
        ['opened', two.id],
      ].sort(),
    );
    await gateway.send({ ended_sessions: [endOf(one, { reason: 'lost' })] });
    startedAt = performance.now();
    await stream.until(4);
    expect(performance.now() - startedAt).toBeLessThan(WITHIN_MS);
    expect(stream.messages[3]).toMatchObject({
      id: 3,
      event: 'ended',
      data: {
        ...{ session_id: one.id, account_id: tenant.accountId, credential_id: credential.id, owner_id: tenant.id },
        ...{
          source: '203.0.113.9',
          reason: 'lost',
          bytes_in: 10,
          ended_at: expect.any(String),
          gateway_id: gateway.id,
        },
      },
    });
    stream.close();
  });

  it('of a session that opens and ends at once have its end', async () => {
    const stream = await follow(tenant);
    const session = newSession(credential);
    await gateway.send({ sessions: [session], ended_sessions: [endOf(session)] });
    await stream.until(2);
    expect(told(stream)).toEqual([['ended', session.id]]);
    stream.close();
  });

  it('are those of the account, and for members those of their credentials', async () => {
    const member = await addUser(service, 'member', tenant.client);
    const stranger = await addAccount(service);
    const own = await credentialOf(member);
    const [forMember, forAdmin, forStranger] = await Promise.all([member, tenant, stranger].map(follow));
    const [ofMember, ofAdmin, ofStranger] = [
      newSession(own),
      newSession(credential),
      newSession(await credentialOf(stranger)),
    ];
    await gateway.send({ sessions: [ofAdmin, ofStranger] });
    await gateway.send({ sessions: [ofMember] });
    await Promise.all([forMember?.until(2), forAdmin?.until(3), forStranger?.until(2)]);
    expect(told(forMember as EventStream)).toEqual([['opened', ofMember.id]]);
    expect(told(forAdmin as EventStream).sort()).toEqual([ofAdmin, ofMember].map(({ id }) => ['opened', id]).sort());
    expect(told(forStranger as EventStream)).toEqual([['opened', ofStranger.id]]);
    for (const stream of [forMember, forAdmin, forStranger]) stream?.close();
  });

  it('end soon after the key of their reader is revoked', async () => {
    const auditor = await addUser(service, 'auditor', tenant.client);
    const stream = await follow(auditor);
    await tenant.client.delete(`/api_keys/${auditor.keyId}`);
    expect(await stream.ended).toBe('ended');
  });

  it('are refused beyond five of a user, whose account has more, and need a key', async () => {
    const streams = await Promise.all(Array.from({ length: 5 }, () => follow(tenant)));
    const { status, body } = await tenant.client.get('/tunnel_sessions/changes');
    expect([status, body.error_code]).toEqual([429, 'ERR_NGROK_226']);
    const auditor = await addUser(service, 'auditor', tenant.client);
    for (const stream of [...streams, await follow(auditor)]) stream.close();
    expect((await fetch(`${service.app.url}/tunnel_sessions/changes`)).status).toBe(401);
  });
});
