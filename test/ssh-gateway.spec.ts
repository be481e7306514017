import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from './support/api-client.js';
import { withoutClaims } from './support/claims.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { GATEWAY, type Service, startCopy, startService } from './support/service.js';

let service: Service;
let gateway: ApiClient;
let owner: TestPrincipal;
let other: TestPrincipal;

beforeAll(async () => {
  service = await startService(GATEWAY);
  gateway = service.gateway;
  owner = await addUser(service, 'member');
  other = await addAccount(service);
});
afterAll(() => service.stop());

const { eventCount, expectRefusal } = refusalsOf(() => service);

const UNKNOWN_FINGERPRINT = `SHA256:${'A'.repeat(43)}`;
const DOMAIN = { domain: 'app.example.com' };

interface Uploaded {
  readonly id: string;
  readonly public_key: string;
  readonly fingerprint: string;
  readonly owner_id: string;
}

/** A credential, with the fingerprint of its key. */
async function upload(body: object = {}, client: ApiClient = owner.client): Promise<Uploaded> {
  const { body: made } = await client.post('/ssh_credentials', { public_key: newPublicKey(), ...body });
  const { rows } = await service.pool.query('select fingerprint from ssh_credentials where id = $1', [made.id]);
  return { ...made, fingerprint: rows[0].fingerprint };
}

/** Copies the credential's row to another account, as a race of two creates can; the service refuses it otherwise. */
async function racedBy({ id }: Uploaded, newId: string, { accountId, id: ownerId }: TestPrincipal): Promise<void> {
  await service.pool.query(
    `insert into ssh_credentials (account_id, id, version, created_at, description, metadata, public_key, acl, owner_id,
       key_type, key_bits, key_blob, fingerprint, exclusive)
     select $1, $2, 1, now(), '', '', public_key, '{}', $3, key_type, key_bits, key_blob, fingerprint, false
     from ssh_credentials where id = $4`,
    [accountId, newId, ownerId, id],
  );
}
const OLDER_THAN_ALL = 'sshcr_0000000000000000000000000AA';
const YOUNGER_THAN_ALL = 'sshcr_zzzzzzzzzzzzzzzzzzzzzzzzzzz';

const ask = async (body: object) => {
  const answer = await gateway.post('/ssh_gateway/authorize', body);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body;
};

const permitted = (credential: Uploaded, rule: string | null, accountId = owner.accountId) => ({
  allowed: true,
  reason: 'permitted',
  matched_rule: rule,
  needs: null,
  credential_id: credential.id,
  account_id: accountId,
  owner_id: credential.owner_id,
  version: 1,
});
const refused = (reason: string, credential: Uploaded, needs: string | null = null) => ({
  ...permitted(credential, null),
  allowed: false,
  reason,
  needs,
});
const UNKNOWN_KEY = {
  allowed: false,
  reason: 'unknown_key',
  matched_rule: null,
  needs: null,
  credential_id: null,
  account_id: null,
  owner_id: null,
  version: null,
};

/** Adds a title to each case: the beginning of its body. */
const titled = (cases: readonly (readonly [body: unknown, code: string, msg: RegExp])[]) =>
  cases.map(([body, code, msg]) => [JSON.stringify(body).slice(0, 90), body, code, msg] as const);

describe('POST /ssh_gateway/authorize', () => {
  it.each([
    [[], DOMAIN, null],
    [['bind:App.Example.com.'], { domain: 'APP.example.com' }, 'bind:App.Example.com.'],
    [['bind:[2001:db8::1]:80'], { address: '[2001:db8:0::1]:80' }, 'bind:[2001:db8::1]:80'],
  ])('permits with %j the target %j by the rule %j', async (acl, target, rule) => {
    const credential = await upload({ acl });
    expect(await ask({ public_key: credential.public_key, target })).toEqual(permitted(credential, rule));
    expect(await ask({ fingerprint: credential.fingerprint, target })).toEqual(permitted(credential, rule));
  });

  it.each([
    [['bind:app.example.com'], { domain: 'Web.example.com.' }, 'bind:web.example.com'],
    [['bind:app.example.com:*'], { address: 'app.example.com:0' }, 'bind:app.example.com'],
    [['bind:team=blue'], { label: { key: 'team', value: 'red*' } }, null],
  ])('refuses with %j the target %j, which needs the rule %j', async (acl, target, needs) => {
    const { fingerprint, ...credential } = await upload({ acl });
    expect(await ask({ fingerprint, target })).toEqual(refused('not_permitted', { fingerprint, ...credential }, needs));
    if (needs === null) return;
    await owner.client.patch(`/ssh_credentials/${credential.id}`, { acl: [...acl, needs] });
    expect(await ask({ fingerprint, target })).toMatchObject({ allowed: true, matched_rule: needs, needs: null });
  });

  it('answers for a key that was never uploaded and for one whose credential was deleted', async () => {
    expect(await ask({ fingerprint: UNKNOWN_FINGERPRINT, target: DOMAIN })).toEqual(UNKNOWN_KEY);
    expect(await ask({ public_key: newPublicKey(), target: DOMAIN })).toEqual(UNKNOWN_KEY);
    const credential = await upload();
    await owner.client.delete(`/ssh_credentials/${credential.id}`);
    expect(await ask({ fingerprint: credential.fingerprint, target: DOMAIN })).toEqual(UNKNOWN_KEY);
  });

  it('permits the union of the credentials of a key, and names the credential that permits', async () => {
    const key = newPublicKey();
    const web = await upload({ public_key: key, acl: ['bind:web.example.com'] });
    const app = await upload({ public_key: key, acl: ['bind:x.example.com', 'bind:app.example.com'] });
    expect(await ask({ public_key: key, target: DOMAIN })).toEqual(permitted(app, 'bind:app.example.com'));
    expect(await ask({ public_key: key, target: { domain: 'db.example.com' } })).toEqual(
      refused('not_permitted', web, 'bind:db.example.com'),
    );
    const open = await upload({ public_key: key });
    expect(await ask({ public_key: key, target: { domain: 'db.example.com' } })).toEqual(permitted(open, null));
  });

  it('decides by the rules of the version that it names', async () => {
    const { id, fingerprint } = await upload({ acl: ['bind:web.example.com'] });
    await owner.client.patch(`/ssh_credentials/${id}`, { acl: ['bind:app.example.com'] });
    expect(await ask({ fingerprint, target: DOMAIN })).toMatchObject({ allowed: true, version: 2 });
    await owner.client.patch(`/ssh_credentials/${id}`, { acl: ['bind:web.example.com'] });
    expect(await ask({ fingerprint, target: DOMAIN })).toMatchObject({ allowed: false, version: 3 });
  });

  it('answers a list of targets in one call, in its order', async () => {
    const credential = await upload({ acl: ['bind:app.example.com', 'bind:k=v'] });
    const target = [{ label: { key: 'k', value: 'v' } }, { domain: 'web.example.com' }, DOMAIN];
    expect(await ask({ fingerprint: credential.fingerprint, target })).toEqual({
      decisions: [
        permitted(credential, 'bind:k=v'),
        refused('not_permitted', credential, 'bind:web.example.com'),
        permitted(credential, 'bind:app.example.com'),
      ],
    });
    expect(await ask({ fingerprint: UNKNOWN_FINGERPRINT, target: [DOMAIN] })).toEqual({ decisions: [UNKNOWN_KEY] });
    const many = Array<object>(1000).fill(DOMAIN);
    expect((await ask({ fingerprint: credential.fingerprint, target: many })).decisions).toHaveLength(1000);
  });

  it('decides about many targets of a key with many credentials, and never by one that was deleted meanwhile', async () => {
    const public_key = newPublicKey();
    const acl = Array.from({ length: 30 }, (_, n) => `bind:*.host-${n}.some.quite.long.example.com`);
    for (let n = 0; n < 60; n += 1) await upload({ public_key, acl });
    const last = await upload({ public_key, acl: ['bind:last.example.com'] });
    const target = [
      ...Array<object>(999).fill({ domain: 'a.b.c.d.other.example.com' }),
      { domain: 'last.example.com' },
    ];
    const { decisions } = await ask({ fingerprint: last.fingerprint, target });
    expect(decisions.slice(-2).map(({ allowed }: { allowed: boolean }) => allowed)).toEqual([false, true]);
    // Those that are asked after the answer to the deletion know of it.
    const before = Array.from({ length: 3 }, () => gateway.post('/ssh_gateway/authorize', { public_key, target }));
    await owner.client.delete(`/ssh_credentials/${last.id}`);
    const after = await ask({ fingerprint: last.fingerprint, target });
    expect(after.decisions.at(-1)).toMatchObject({ allowed: false });
    for (const { status } of await Promise.all(before)) expect(status).toBe(200);
  });
});

describe('the owner of a credential', () => {
  it('must be active: its tunnels are refused once it is deactivated and permitted once it is activated again', async () => {
    const user = await addUser(service, 'member');
    const credential = await upload({}, user.client);
    const request = { fingerprint: credential.fingerprint, target: DOMAIN };
    await service.admin.patch(`/users/${user.id}`, { active: false });
    expect(await ask(request)).toEqual(refused('owner_inactive', credential));
    await service.admin.patch(`/users/${user.id}`, { active: true });
    expect(await ask(request)).toEqual(permitted(credential, null));
    await service.admin.delete(`/users/${user.id}`);
    expect(await ask(request)).toEqual(UNKNOWN_KEY);
  });

  it('that the account does not know is accepted', async () => {
    const credential = await upload({ owner_id: 'somebody-elsewhere' }, service.admin);
    expect(await ask({ fingerprint: credential.fingerprint, target: DOMAIN })).toEqual(permitted(credential, null));
  });

  it('of one credential may be inactive without an effect on the key’s other credentials', async () => {
    const user = await addUser(service, 'member');
    const key = newPublicKey();
    await upload({ public_key: key }, user.client);
    const second = await upload({ public_key: key, acl: ['bind:app.example.com'] });
    await service.admin.patch(`/users/${user.id}`, { active: false });
    expect(await ask({ public_key: key, target: DOMAIN })).toEqual(permitted(second, 'bind:app.example.com'));
    const target = { domain: 'web.example.com' };
    expect(await ask({ public_key: key, target })).toEqual(refused('not_permitted', second, 'bind:web.example.com'));
  });
});

describe('a key that accounts have raced for', () => {
  it('belongs to the account of its oldest credential, whose grants alone count', async () => {
    const first = await upload({ acl: ['bind:web.example.com'] });
    await racedBy(first, YOUNGER_THAN_ALL, other);
    const request = { fingerprint: first.fingerprint, target: DOMAIN };
    expect(await ask(request)).toEqual(refused('not_permitted', first, 'bind:app.example.com'));
    const { body } = await gateway.post('/ssh_gateway/identify', { fingerprint: first.fingerprint });
    expect([body.account_id, body.credentials.length]).toEqual([owner.accountId, 1]);
    // Once the first account deletes its credential, the key belongs to the other account.
    await owner.client.delete(`/ssh_credentials/${first.id}`);
    expect(await ask(request)).toMatchObject({ allowed: true, account_id: other.accountId });
    await service.pool.query('delete from ssh_credentials where id = $1', [YOUNGER_THAN_ALL]);
  });

  it('stays with that account while its owner there is inactive', async () => {
    const user = await addUser(service, 'member');
    const first = await upload({}, user.client);
    await racedBy(first, YOUNGER_THAN_ALL, other);
    await service.admin.patch(`/users/${user.id}`, { active: false });
    expect(await ask({ fingerprint: first.fingerprint, target: DOMAIN })).toEqual(refused('owner_inactive', first));
    expect((await gateway.post('/ssh_gateway/identify', { fingerprint: first.fingerprint })).status).toBe(404);
    await service.pool.query('delete from ssh_credentials where id = $1', [YOUNGER_THAN_ALL]);
  });

  it('is revoked for the account with the younger credential, as recheck shows', async () => {
    const first = await upload();
    const known = [{ credential_id: first.id, version: 1 }];
    expect((await gateway.post('/ssh_gateway/recheck', known)).body).toMatchObject({ changed: [] });
    await racedBy(first, OLDER_THAN_ALL, other);
    expect((await gateway.post('/ssh_gateway/recheck', known)).body).toMatchObject({
      changed: [{ credential_id: first.id, reason: 'gone', version: null }],
    });
    await service.pool.query('delete from ssh_credentials where id = $1', [OLDER_THAN_ALL]);
  });
});

describe('POST /ssh_gateway/identify', () => {
  it('gives the account and the live credentials of a key, oldest first, for every form of the key', async () => {
    const key = newPublicKey();
    const first = await upload({ public_key: key });
    const second = await upload({ public_key: key, acl: ['bind:app.example.com'] }, service.admin);
    const expected = {
      account_id: owner.accountId,
      fingerprint: first.fingerprint,
      credentials: [first, second].map(({ id, owner_id }) => ({
        credential_id: id,
        owner_id,
        version: 1,
        last_used_at: null,
      })),
    };
    for (const body of [{ public_key: `${key} other comment` }, { fingerprint: first.fingerprint }]) {
      expect(await gateway.post('/ssh_gateway/identify', body)).toMatchObject({ status: 200, body: expected });
    }
  });

  it('answers 404 for an unknown key, a deleted one, and one whose owners are all inactive', async () => {
    const user = await addUser(service, 'member');
    const [deleted, inactive] = [await upload(), await upload({}, user.client)];
    await owner.client.delete(`/ssh_credentials/${deleted.id}`);
    await service.admin.patch(`/users/${user.id}`, { active: false });
    for (const fingerprint of [UNKNOWN_FINGERPRINT, deleted.fingerprint, inactive.fingerprint]) {
      await expectRefusal(() => gateway.post('/ssh_gateway/identify', { fingerprint }), 404, 'ERR_TAS_404');
    }
  });
});

describe('POST /ssh_gateway/recheck', () => {
  const recheck = async (known: readonly object[]) => (await gateway.post('/ssh_gateway/recheck', known)).body.changed;

  it('names only credentials that changed, are gone or have an inactive owner, in the order sent', async () => {
    const user = await addUser(service, 'member');
    const [same, changed, deleted] = [await upload(), await upload({ acl: ['*'] }), await upload()];
    const [inactive, both] = [await upload({}, user.client), await upload({}, user.client)];
    await owner.client.patch(`/ssh_credentials/${changed.id}`, { acl: ['bind:app.example.com'] });
    await user.client.patch(`/ssh_credentials/${both.id}`, { description: 'changed' });
    await owner.client.delete(`/ssh_credentials/${deleted.id}`);
    await service.admin.patch(`/users/${user.id}`, { active: false });
    const unknown = 'sshcr_3MPflUxi65UVJUZK1y0iEJKUOhV';
    const ids = [both.id, deleted.id, same.id, unknown, changed.id, inactive.id, 'no id at all'];
    expect(await recheck(ids.map((credential_id) => ({ credential_id, version: 1 })))).toEqual([
      { credential_id: both.id, reason: 'owner_inactive', version: 2 },
      { credential_id: deleted.id, reason: 'gone', version: null },
      { credential_id: unknown, reason: 'gone', version: null },
      { credential_id: changed.id, reason: 'changed', version: 2 },
      { credential_id: inactive.id, reason: 'owner_inactive', version: 1 },
      { credential_id: 'no id at all', reason: 'gone', version: null },
    ]);
    expect(await recheck([{ credential_id: changed.id, version: 2 }])).toEqual([]);
    expect(await recheck([])).toEqual([]);
  });

  it('accepts 10,000 credentials at once', async () => {
    const { id } = await upload();
    const known = Array<object>(10_000).fill({ credential_id: id, version: 1 });
    expect(await recheck(known)).toEqual([]);
    known[7000] = { credential_id: id, version: 2 };
    expect(await recheck(known)).toEqual([{ credential_id: id, reason: 'changed', version: 1 }]);
  });

  it.each(
    titled([
      [{}, 'ERR_NGROK_213', /must be a JSON array/],
      [[null], 'ERR_TAS_400', /^\[0\] must be an object/],
      [[{ credential_id: 'sshcr_1' }], 'ERR_TAS_400', /^\[0\]\.version must be a whole number/],
      [[{ credential_id: 'sshcr_1', version: 0 }], 'ERR_TAS_400', /from 1 to 2147483647/],
      [[{ credential_id: 'sshcr_1', version: 2 ** 31 }], 'ERR_TAS_400', /whole number/],
      [[{ credential_id: 7, version: 1 }], 'ERR_TAS_400', /credential_id must be a string/],
      [[{ credential_id: 'x', version: 1, more: 1 }], 'ERR_TAS_400', /takes only credential_id, version/],
      [Array(10_001).fill({ credential_id: 'x', version: 1 }), 'ERR_TAS_400', /has 10001 items; the maximum is 10000/],
    ]),
  )('refuses the body %s', async (_, body, code, msg) => {
    await expectRefusal(() => gateway.post('/ssh_gateway/recheck', body), 400, code, msg);
  });
});

describe('GET /ssh_gateway/authorized_keys', () => {
  const keysOf = (type: string, fingerprint: string) =>
    gateway.get(`/ssh_gateway/authorized_keys?${new URLSearchParams({ type, fingerprint })}`);

  it('gives sshd one line with the canonical key, never the uploaded text', async () => {
    const credential = await upload({ acl: ['bind:app.example.com:443'] });
    const { status, headers, body } = await keysOf('ssh-ed25519', credential.fingerprint);
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(body).toContain('permitlisten="app.example.com:443"');
    expect(body).toContain(credential.public_key.split(' ')[1]);
    expect(body).not.toContain('test@example.test');
    expect(body).toMatch(/^restrict,[^\n]+\n$/);
  });

  it('accepts a fingerprint whose plus sign became a blank in the URL', async () => {
    let credential = await upload({});
    while (!credential.fingerprint.includes('+')) credential = await upload({});
    const query = `type=ssh-ed25519&fingerprint=${credential.fingerprint.replaceAll('/', '%2F')}`;
    expect((await gateway.get(`/ssh_gateway/authorized_keys?${query}`)).status).toBe(200);
  });

  it('answers 404 for an unknown key, another type, a deleted credential and an inactive owner', async () => {
    const user = await addUser(service, 'member');
    const [known, deleted, inactive] = [await upload(), await upload(), await upload({}, user.client)];
    await owner.client.delete(`/ssh_credentials/${deleted.id}`);
    await service.admin.patch(`/users/${user.id}`, { active: false });
    expect((await keysOf('ssh-ed25519', known.fingerprint)).status).toBe(200);
    for (const [type, fingerprint] of [
      ['ssh-ed25519', UNKNOWN_FINGERPRINT],
      ['ssh-rsa', known.fingerprint],
      ['ssh-ed25519-cert-v01@openssh.com', known.fingerprint],
      ['ssh-ed25519', deleted.fingerprint],
      ['ssh-ed25519', inactive.fingerprint],
    ] as const) {
      expect([type, fingerprint, (await keysOf(type, fingerprint)).status]).toEqual([type, fingerprint, 404]);
    }
  });

  it.each([
    '',
    '?type=ssh-ed25519',
    `?fingerprint=${UNKNOWN_FINGERPRINT}`,
    '?type=ssh-ed25519&fingerprint=MD5:aa',
    `?type=a&type=b&fingerprint=${UNKNOWN_FINGERPRINT}`,
    `?type=a&fingerprint=${UNKNOWN_FINGERPRINT}%0a`,
  ])('answers 400 to the query %p', async (query) => {
    await expectRefusal(() => gateway.get(`/ssh_gateway/authorized_keys${query}`), 400, 'ERR_TAS_400');
  });
});

describe('GET /ssh_gateway/edges', () => {
  const edgeAt = async (hostport: string) =>
    (await gateway.get(`/ssh_gateway/edges?${new URLSearchParams({ hostport })}`)).body;
  const backend = { backend_id: 'bkdtg_1' };

  it('finds the first edge with an enabled backend in any spelling, also of accounts that shared the hostport before', async () => {
    const hostports = ['Shared.example.com.:20000', 'x.example.com:1'];
    const disabled = { hostports, backend: { ...backend, enabled: false } };
    for (const more of [{}, disabled]) await owner.client.post('/edges/tcp', { hostports, ...more });
    const { body: first } = await owner.client.post('/edges/tcp', { hostports, backend });
    const { body: second } = await withoutClaims(service.pool, ['shared.example.com:20000'], () =>
      other.client.post('/edges/tcp', { hostports: ['shared.example.com:20000'], backend }),
    );
    const beside = { ip_policies: [], ip_policies_error: null, traffic_policy_error: null, tunnel_group: null };
    expect(await edgeAt('SHARED.example.com:20000')).toEqual({
      edge: { account_id: owner.accountId, edge: first, ...beside, check: null },
      others: 3,
    });
    await owner.client.delete(`/edges/tcp/${first.id}`);
    expect(await edgeAt('shared.example.com.:20000')).toEqual({
      edge: { account_id: other.accountId, edge: second, ...beside, check: null },
      others: 2,
    });
    await other.client.delete(`/edges/tcp/${second.id}/backend`);
    expect(await edgeAt('shared.example.com:20000')).toEqual({ edge: null, others: 3 });
    expect(await edgeAt('shared.example.com:20001')).toEqual({ edge: null, others: 0 });
  });

  it('looks at the first hundred, however many edges list the hostport', async () => {
    const { body: oldest } = await owner.client.post('/edges/tcp', { hostports: ['crowded.example.com:1'], backend });
    await service.pool.query(
      `with copies as (
         insert into tcp_edges (account_id, id, version, created_at, description, metadata, hostports)
         select $2, 'edgtcp_z' || to_char(n, 'FM00000') || right(id, 21), version, created_at, '', '', hostports
         from tcp_edges, generate_series(1, 150) n where id = $1 returning account_id, id
       )
       insert into tcp_edge_hostports select account_id, id, 'crowded.example.com:1', false, now() from copies`,
      [oldest.id, other.accountId],
    );
    expect(await edgeAt('crowded.example.com:1')).toMatchObject({ edge: { edge: { id: oldest.id } }, others: 99 });
    await service.pool.query(`update tcp_edges set backend = '{"enabled": true}' where id like 'edgtcp_z00100%'`);
    await owner.client.delete(`/edges/tcp/${oldest.id}/backend`);
    expect(await edgeAt('crowded.example.com:1')).toEqual({ edge: null, others: 100 });
  });

  it.each([
    ['', 'ERR_TAS_400'],
    ['?hostport=', 'ERR_TAS_400'],
    ['?hostport=app.example.com', 'ERR_NGROK_7104'],
    ['?hostport=a..b:1', 'ERR_NGROK_7104'],
    ['?hostport=app.example.com:70000', 'ERR_NGROK_7112'],
  ])('answers 400 to the query %p', async (query, code) => {
    await expectRefusal(() => gateway.get(`/ssh_gateway/edges${query}`), 400, code);
  });
});

describe('a malformed request', () => {
  const key = { fingerprint: UNKNOWN_FINGERPRINT };

  it.each(
    titled([
      [{ target: DOMAIN }, 'ERR_TAS_400', /exactly one of public_key and fingerprint/],
      [{ ...key, public_key: newPublicKey(), target: DOMAIN }, 'ERR_TAS_400', /exactly one of/],
      [{ fingerprint: 'SHA256:short', target: DOMAIN }, 'ERR_TAS_400', /must be as ssh-keygen -l prints it/],
      [{ fingerprint: 7, target: DOMAIN }, 'ERR_NGROK_215', /must be a string/],
      [{ public_key: '', target: DOMAIN }, 'ERR_NGROK_611', /missing/],
      [{ public_key: 'ssh-ed25519 AAAA', target: DOMAIN }, 'ERR_NGROK_612', /./],
      [{ ...key }, 'ERR_TAS_400', /target is missing/],
      [{ ...key, target: 'app.example.com' }, 'ERR_TAS_400', /target must be an object/],
      [{ ...key, target: { domain: 'a..b' } }, 'ERR_TAS_400', /target: domain 'a..b' cannot be bound/],
      [{ ...key, target: { ...DOMAIN, port: 1 } }, 'ERR_TAS_400', /takes only domain, address, label/],
      [
        { ...key, target: { label: { key: 'k', value: 'v', x: 1 } } },
        'ERR_TAS_400',
        /target.label takes only key, value/,
      ],
      [{ ...key, target: [] }, 'ERR_TAS_400', /has 0 items; it takes 1 to 1000/],
      [{ ...key, target: Array(1001).fill(DOMAIN) }, 'ERR_TAS_400', /has 1001 items/],
      [{ ...key, target: [DOMAIN, {}] }, 'ERR_TAS_400', /^target\[1\]: /],
      [{ ...key, target: [[DOMAIN]] }, 'ERR_TAS_400', /^target\[0\] must be an object/],
      [{ ...key, target: DOMAIN, source: 'x'.repeat(256) }, 'ERR_TAS_400', /source is 256 bytes long/],
      [{ ...key, target: DOMAIN, account_id: 'ac_1' }, 'ERR_NGROK_214', /not a field/],
    ]),
  )('is 400 and no decision: %s', async (_, body, code, msg) => {
    await expectRefusal(() => gateway.post('/ssh_gateway/authorize', body), 400, code, msg);
  });

  it('of any shape is 400, never 500', async () => {
    const odd = [null, true, 0, -1, 'x', [], {}, [[]], { __proto__: null, key: [] }, 'ssh-rsa AAAA', '\u{1f600}'];
    for (const path of ['identify', 'authorize', 'recheck']) {
      for (const a of odd) {
        const bodies = [a, { public_key: a }, { fingerprint: a, target: a }, { ...key, target: { domain: a } }];
        for (const body of [...bodies, { ...key, target: { label: a } }, [a], [{ credential_id: a, version: a }]]) {
          const { status } = await gateway.post(`/ssh_gateway/${path}`, body);
          expect([path, body, [200, 400, 404].includes(status)]).toEqual([path, body, true]);
        }
      }
    }
  });

  it('never quotes a private key that was pasted by mistake', async () => {
    const pasted = '-----BEGIN OPENSSH PRIVATE KEY-----\nSECRETSECRET\n-----END OPENSSH PRIVATE KEY-----';
    const { body } = await expectRefusal(
      () => gateway.post('/ssh_gateway/identify', { public_key: pasted }),
      400,
      'ERR_NGROK_612',
    );
    expect(JSON.stringify(body)).not.toContain('SECRET');
    const { body: other } = await expectRefusal(
      () => gateway.post('/ssh_gateway/identify', { fingerprint: 'b3BlbnNzaC1rZXktdjEASECRETSECRET' }),
      400,
      'ERR_TAS_400',
    );
    expect(JSON.stringify(other)).not.toContain('SECRET');
  });
});

describe('keys that the operator refuses', () => {
  it('no longer grant access, even if they were uploaded before', async () => {
    const credential = await upload();
    const { fingerprint, id } = credential;
    const deniedFingerprints = new Set([fingerprint]);
    const {
      app,
      gateway: client,
      stop,
    } = await startCopy(service, { ...GATEWAY, deniedFingerprints, minRsaBits: 4096 });
    const at = (path: string) => `${app.url}/ssh_gateway/${path}`;
    const { body } = await client.post(at('authorize'), { public_key: credential.public_key, target: DOMAIN });
    expect(body).toEqual(UNKNOWN_KEY);
    expect((await client.post(at('identify'), { fingerprint })).status).toBe(404);
    const query = new URLSearchParams({ type: 'ssh-ed25519', fingerprint });
    expect((await client.get(at(`authorized_keys?${query}`))).status).toBe(404);
    const { body: rechecked } = await client.post(at('recheck'), [{ credential_id: id, version: 1 }]);
    expect(rechecked.changed).toEqual([{ credential_id: id, reason: 'gone', version: null }]);
    await stop();
  });

  it('do not slow recheck down, even if there are many, and even the tenth time', async () => {
    const known = Array.from({ length: 4000 }, (_, n) => `sshcr_${String(n).padStart(27, '0')}`);
    const fingerprintOf = (n: number) => `SHA256:${String(n).padStart(43, '0')}`;
    await service.pool.query(
      `insert into ssh_credentials (account_id, id, version, created_at, description, metadata, public_key, acl, owner_id,
         key_type, key_bits, key_blob, fingerprint, exclusive)
       select $1, many.id, 1, now(), '', '', '', '{}', $2, 'ssh-ed25519', 256, '', many.fingerprint, false
       from unnest($3::text[], $4::text[]) as many(id, fingerprint)`,
      [owner.accountId, owner.id, known, known.map((_, n) => fingerprintOf(n))],
    );
    const deniedFingerprints = new Set(Array.from({ length: 100_000 }, (_, n) => fingerprintOf(n + 3999)));
    const { gateway: client, stop } = await startCopy(service, { ...GATEWAY, deniedFingerprints });
    const body = known.map((credential_id) => ({ credential_id, version: 1 }));
    const took: number[] = [];
    for (let n = 0; n < 10; n += 1) {
      const began = performance.now();
      const answer = await client.post('/ssh_gateway/recheck', body);
      took.push(performance.now() - began);
      expect(answer.body.changed).toEqual([{ credential_id: known[3999], reason: 'gone', version: null }]);
    }
    // With the list in the query, each call after the fifth took seconds. A busy machine slows calls of both halves down.
    expect(Math.min(...took.slice(5))).toBeLessThan(5 * Math.max(...took.slice(0, 5)));
    await stop();
    await service.pool.query('delete from ssh_credentials where id = any($1)', [known]);
  });
});

it('requests of gateways do not append to the log', async () => {
  const { fingerprint, id } = await upload();
  const before = await eventCount();
  await ask({ fingerprint, target: DOMAIN });
  await gateway.post('/ssh_gateway/identify', { fingerprint });
  await gateway.post('/ssh_gateway/recheck', [{ credential_id: id, version: 1 }]);
  expect(await eventCount()).toBe(before);
});
