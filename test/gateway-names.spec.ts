import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { withoutClaims } from './support/claims.js';
import { metric, type TestCredential, untilWritten, upload } from './support/decisions.js';
import { EventStream } from './support/event-stream.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { type Service, startCopy, startService } from './support/service.js';

/** One token of each kind. The accounts exist before the instance that is bound to one of them starts. */
const TOKENS = { nameless: 'a-token-without-a-name', named: 'a-token-with-a-name-1', bound: 'a-token-for-one-account' };

let service: Service;
let copy: Awaited<ReturnType<typeof startCopy>>;
let ours: TestPrincipal;
let theirs: TestPrincipal;
let ourCredential: TestCredential;
let theirCredential: TestCredential;
let [nameless, named, bound]: ApiClient[] = [];

const target = { domain: 'app.example.com' };
const HOSTPORT = '1.tcp.example.com:20000';
const UNKNOWN_FINGERPRINT = `SHA256:${'A'.repeat(43)}`;

beforeAll(async () => {
  service = await startService({});
  [ours, theirs] = [await addAccount(service), await addAccount(service)];
  copy = await startCopy(service, {
    gatewayTokens: [
      { token: TOKENS.nameless },
      { name: 'frankfurt-1', token: TOKENS.named },
      { name: 'ours-only', accountId: ours.accountId, token: TOKENS.bound },
    ],
  });
  [nameless, named, bound] = [TOKENS.nameless, TOKENS.named, TOKENS.bound].map(
    (token) => new ApiClient(copy.app.url, token),
  );
  [ourCredential, theirCredential] = [await credentialOf(ours), await credentialOf(theirs)];
});
afterAll(async () => {
  await copy.stop();
  await service.stop();
});

const credentialOf = ({ client }: TestPrincipal, body: object = {}): Promise<TestCredential> =>
  upload(service, client, { public_key: newPublicKey(), ...body });

const of = (client: ApiClient | undefined): ApiClient => {
  if (client === undefined) throw new Error('the service has not started');
  return client;
};
const authorize = (client: ApiClient | undefined, fingerprint: string) =>
  of(client).post('/ssh_gateway/authorize', { fingerprint, target });

/** The lines of a gateway's metrics that hold values. */
const seriesFor = async (client: ApiClient | undefined): Promise<string[]> => {
  const { body } = await of(client).get('/ssh_gateway/metrics');
  return (body as string).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
};

const decisionsOf = async ({ client }: TestPrincipal, query = '') => {
  await untilWritten(of(nameless));
  return (await client.get(`/bind_decisions${query}`)).body;
};

/** Status and body, without the id of the operation. */
const answerOf = async (client: ApiClient | undefined, send: (client: ApiClient) => ReturnType<ApiClient['get']>) => {
  const { status, body } = await send(of(client));
  const { details: _, ...rest } = typeof body === 'string' ? { text: body } : body;
  // The last use is written down a little later, and the snapshot of the database moves with each transaction.
  const moving = ['last_used_at', 'reservations'];
  return { status, rest: JSON.parse(JSON.stringify(rest, (name, value) => (moving.includes(name) ? null : value))) };
};

describe('the name of a gateway', () => {
  it('stands in the decisions that it asked for; a token without a name leaves null', async () => {
    const account = await addAccount(service);
    const { fingerprint } = await credentialOf(account);
    for (const gateway of [nameless, named]) expect((await authorize(gateway, fingerprint)).body.allowed).toBe(true);
    const names = (await decisionsOf(account)).bind_decisions.map((one: { gateway_name: unknown }) => one.gateway_name);
    expect(names).toEqual(['frankfurt-1', null]);
  });

  it('asks for its decisions page by page, alone and with a credential', async () => {
    const account = await addAccount(service);
    const [one, two] = [await credentialOf(account), await credentialOf(account)];
    for (const { fingerprint } of [one, two, one]) {
      await authorize(nameless, fingerprint);
      await authorize(named, fingerprint);
    }
    const all = (await decisionsOf(account)).bind_decisions;
    const wanted = all.filter((decision: { gateway_name: unknown }) => decision.gateway_name === 'frankfurt-1');
    expect(wanted).toHaveLength(3);
    const first = await decisionsOf(account, '?gateway_name=frankfurt-1&limit=2');
    expect(first.bind_decisions).toEqual(wanted.slice(0, 2));
    const next = await account.client.get(first.next_page_uri.replace(service.app.url, ''));
    expect(next.body).toMatchObject({ bind_decisions: wanted.slice(2), next_page_uri: null });
    const both = await decisionsOf(account, `?gateway_name=frankfurt-1&credential_id=${one.id}`);
    const ofCredential = (decision: { credential_id: string }) => decision.credential_id === one.id;
    expect(both.bind_decisions).toEqual(wanted.filter(ofCredential));
    expect((await decisionsOf(account, '?gateway_name=frankfurt-2')).bind_decisions).toEqual([]);
  });

  it('is 400 in a query if no gateway can have it', async () => {
    const { status, body } = await ours.client.get('/bind_decisions?gateway_name=Frankfurt');
    expect([status, body.msg]).toEqual([400, expect.stringContaining('1 to 32 of a-z, 0-9 and -')]);
  });

  it('is a label of the metrics from the start on; a token without a name has no label', async () => {
    const name = 'tunnel_access_bind_decisions_total';
    const counts = async () => ({
      nameless: await metric(of(nameless), `${name}{reason="unknown_key"}`),
      named: await metric(of(nameless), `${name}{reason="unknown_key",gateway="frankfurt-1"}`),
      bound: await metric(of(nameless), `${name}{reason="unknown_key",gateway="ours-only"}`),
    });
    const before = await counts();
    await authorize(nameless, UNKNOWN_FINGERPRINT);
    for (let n = 0; n < 2; n += 1) await authorize(named, UNKNOWN_FINGERPRINT);
    expect(await counts()).toEqual({ ...before, nameless: before.nameless + 1, named: before.named + 2 });
    expect(await metric(of(nameless), `${name}{reason="owner_inactive",gateway="ours-only"}`)).toBe(0);
  });
});

describe('a gateway that serves one account', () => {
  it('gets the answers of every gateway about that account', async () => {
    const { id, fingerprint } = ourCredential;
    expect((await authorize(bound, fingerprint)).body).toMatchObject({ allowed: true, account_id: ours.accountId });
    const edge = (
      await ours.client.post('/edges/tcp', {
        hostports: ['2.tcp.example.com:20000'],
        backend: { backend_id: 'bkdtg_1' },
      })
    ).body;
    for (const send of sends({ id, fingerprint }, '2.tcp.example.com:20000')) {
      expect(await answerOf(bound, send)).toEqual(await answerOf(named, send));
    }
    const { body } = await of(bound).get('/ssh_gateway/edges?hostport=2.tcp.example.com:20000');
    expect(body.edge.edge.id).toBe(edge.id);
  });

  it('gets the answer to an unknown key for the keys of others, in every question', async () => {
    const { fingerprint } = theirCredential;
    const unknown = sends({ id: `sshcr_${'0'.repeat(27)}`, fingerprint: UNKNOWN_FINGERPRINT }, 'nowhere.example.com:1');
    const foreign = sends(theirCredential, 'nowhere.example.com:1');
    for (const [n, send] of foreign.entries()) {
      const text = (answer: object) => JSON.stringify(answer).replaceAll(theirCredential.id, `sshcr_${'0'.repeat(27)}`);
      expect(text(await answerOf(bound, send))).toBe(text(await answerOf(bound, unknown[n] ?? send)));
    }
    expect((await authorize(bound, fingerprint)).body).toMatchObject({ reason: 'unknown_key', account_id: null });
    expect((await authorize(named, fingerprint)).body).toMatchObject({ allowed: true });
  });

  it('leaves no decision with the account of a foreign key: it is recorded like that of an unknown one', async () => {
    const account = await addAccount(service);
    const { fingerprint } = await credentialOf(account);
    await authorize(bound, fingerprint);
    expect((await decisionsOf(account)).bind_decisions).toEqual([]);
    const { rows } = await service.pool.query(
      'select account_id, credential_id, owner_id, reason, gateway_name from bind_decisions where fingerprint = $1',
      [fingerprint],
    );
    expect(rows).toEqual([
      { account_id: '', credential_id: '', owner_id: '', reason: 'unknown_key', gateway_name: 'ours-only' },
    ]);
  });

  it('learns that a credential of another account is gone, whatever its state', async () => {
    const owner = await addUser(service, 'member', theirs.client);
    const inactive = await credentialOf(owner);
    await theirs.client.patch(`/users/${owner.id}`, { active: false });
    const changed = await credentialOf(theirs);
    await theirs.client.patch(`/ssh_credentials/${changed.id}`, { acl: ['bind:other.example.com'] });
    const known = [theirCredential, inactive, changed, ourCredential].map(({ id }) => ({
      credential_id: id,
      version: 1,
    }));
    const gone = ({ id }: TestCredential) => ({ credential_id: id, reason: 'gone', version: null });
    const { body } = await of(bound).post('/ssh_gateway/recheck', known);
    expect(body.changed).toEqual([gone(theirCredential), gone(inactive), gone(changed)]);
    expect((await of(named).post('/ssh_gateway/recheck', known)).body.changed).toHaveLength(2);
  });

  it('finds its edge also behind a hundred edges of others that listed the hostport first', async () => {
    const older = Array.from({ length: 100 }, () =>
      theirs.client.post('/edges/tcp', { hostports: [HOSTPORT], backend: { backend_id: 'bkdtg_1' } }),
    );
    await Promise.all(older);
    const { body: edge } = await withoutClaims(service.pool, [HOSTPORT], () =>
      ours.client.post('/edges/tcp', { hostports: [HOSTPORT], backend: { backend_id: 'bkdtg_1' } }),
    );
    const answerTo = async (client: ApiClient | undefined) =>
      (await of(client).get(`/ssh_gateway/edges?hostport=${HOSTPORT}`)).body;
    // Both at once: look-ups that share a query must not share an answer.
    const [toAll, toOurs] = await Promise.all([answerTo(named), answerTo(bound)]);
    expect(toAll).toMatchObject({ edge: { account_id: theirs.accountId }, others: 99 });
    expect(toOurs).toMatchObject({ edge: { account_id: ours.accountId, edge: { id: edge.id } }, others: 0 });
  });

  it('is told of changes of that account only', async () => {
    const open = (token: string) => EventStream.open(`${copy.app.url}/ssh_gateway/changes`, token);
    const [toAll, toOurs] = await Promise.all([open(TOKENS.named), open(TOKENS.bound)]);
    await Promise.all([toAll.until(1), toOurs.until(1)]);
    const [foreign, own] = [await credentialOf(theirs), await credentialOf(ours)];
    await theirs.client.delete(`/ssh_credentials/${foreign.id}`);
    await ours.client.delete(`/ssh_credentials/${own.id}`);
    const idsOf = ({ messages }: EventStream): string[] => messages.flatMap(({ data }) => data.credential_ids ?? []);
    // The change of the other account came first, so the stream would have told of it first.
    for (const stream of [toAll, toOurs])
      while (!idsOf(stream).includes(own.id)) await stream.until(stream.messages.length + 1);
    expect(idsOf(toAll)).toContain(foreign.id);
    expect(new Set(idsOf(toOurs))).toEqual(new Set([own.id]));
    toAll.close();
    toOurs.close();
  });

  it('sees the number of its own decisions alone in the metrics, nothing about those of others', async () => {
    const before = await seriesFor(bound);
    expect(before.length).toBeGreaterThan(0);
    for (const line of before) expect(line).toMatch(/^tunnel_access_bind_decisions_total{.*gateway="ours-only"} \d+$/);
    for (const gateway of [named, nameless]) await authorize(gateway, theirCredential.fingerprint);
    expect(await seriesFor(bound)).toEqual(before);
    const permitted = 'tunnel_access_bind_decisions_total{reason="permitted",gateway="ours-only"}';
    const count = await metric(of(bound), permitted);
    await authorize(bound, ourCredential.fingerprint);
    expect(await metric(of(bound), permitted)).toBe(count + 1);
    expect(await metric(of(named), permitted)).toBe(count + 1);
  });

  it('cannot take the streams of changes of the others: the eleventh of a token is 429', async () => {
    const open = (token: string) => EventStream.open(`${copy.app.url}/ssh_gateway/changes`, token);
    const opened = await Promise.all(Array.from({ length: 10 }, () => open(TOKENS.bound)));
    expect(opened.map(({ response }) => response.statusCode)).toEqual(Array(10).fill(200));
    const { status, body } = await of(bound).get('/ssh_gateway/changes');
    expect([status, body.msg]).toEqual([429, expect.stringContaining('This token already has 10 streams')]);
    const others = await Promise.all([open(TOKENS.named), open(TOKENS.nameless)]);
    expect(others.map(({ response }) => response.statusCode)).toEqual([200, 200]);
    for (const stream of [...opened, ...others]) stream.close();
  });

  it('serves no one if the account does not exist', async () => {
    const accountId = `ac_${'0'.repeat(27)}`;
    const stranger = await startCopy(service, { gatewayTokens: [{ name: 'x', accountId, token: TOKENS.bound }] });
    const client = new ApiClient(stranger.app.url, TOKENS.bound);
    expect((await authorize(client, ourCredential.fingerprint)).body.reason).toBe('unknown_key');
    await stranger.stop();
  });
});

/** Every question of a gateway about a credential and a hostport. */
function sends({ id, fingerprint }: Pick<TestCredential, 'id' | 'fingerprint'>, hostport: string) {
  const query = new URLSearchParams({ type: 'ssh-ed25519', fingerprint });
  return [
    (client: ApiClient) => client.post('/ssh_gateway/identify', { fingerprint }),
    (client: ApiClient) => client.post('/ssh_gateway/authorize', { fingerprint, target }),
    (client: ApiClient) => client.post('/ssh_gateway/recheck', [{ credential_id: id, version: 1 }]),
    (client: ApiClient) => client.get(`/ssh_gateway/authorized_keys?${query}`),
    (client: ApiClient) => client.get(`/ssh_gateway/edges?hostport=${hostport}`),
  ];
}
