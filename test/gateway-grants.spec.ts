import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Pool } from 'pg';
import { CredentialGrants } from '../src/api/gateway-api/decisions/credential-grants.js';
import { KeyAccess, MAX_RULES_PER_KEY } from '../src/api/gateway-api/decisions/key-access.js';
import { type TestCredential, upload } from './support/decisions.js';
import { newPublicKey } from './support/keys.js';
import { addUser, type TestPrincipal } from './support/principals.js';
import { GATEWAY, type Service, startService } from './support/service.js';

/** A key's grants come from the current rows, and their number is limited, so that one account cannot delay others. */
let service: Service;
let owner: TestPrincipal;

beforeAll(async () => {
  service = await startService(GATEWAY);
  owner = await addUser(service, 'member');
});
afterAll(() => service.stop());

const BIG_ACL = [...Array.from({ length: 999 }, (_, n) => `bind:host-${n}.example.com`), 'bind:app.example.com'];
const DOMAIN = { domain: 'app.example.com' };

const newCredential = (acl: readonly string[], client = owner.client): Promise<TestCredential> =>
  upload(service, client, { public_key: newPublicKey(), acl });

const ask = async ({ fingerprint }: TestCredential, target: object = DOMAIN) =>
  (await service.gateway.post('/ssh_gateway/authorize', { fingerprint, target })).body;

const lineOf = async ({ fingerprint }: TestCredential): Promise<string> =>
  (
    await service.gateway.get(
      `/ssh_gateway/authorized_keys?${new URLSearchParams({ type: 'ssh-ed25519', fingerprint })}`,
    )
  ).body;

const setAcl = ({ id }: TestCredential, acl: readonly string[]) =>
  service.pool.query('update ssh_credentials set acl = $2 where id = $1', [id, acl]);

/** Adds `count` younger credentials with the same key, owner and rules; the n-th also permits `more-n.example.com`. */
async function addCredentials({ id }: TestCredential, count: number): Promise<void> {
  await service.pool.query(
    `insert into ssh_credentials (account_id, id, version, created_at, description, metadata, public_key, acl, owner_id,
       key_type, key_bits, key_blob, fingerprint, exclusive)
     select account_id, 'sshcr_z' || to_char(n, 'FM00000') || right(id, 21), 1, now(), '', '', '',
       acl[2:] || ('bind:more-' || n || '.example.com'), owner_id, key_type, key_bits, key_blob, fingerprint, false
     from ssh_credentials, generate_series(1, $2::int) n where id = $1`,
    [id, count],
  );
}

describe('the rules that count', () => {
  it('are those of the row, even if it was changed by hand under the same version', async () => {
    const credential = await newCredential(['bind:web.example.com']);
    expect(await ask(credential)).toMatchObject({ allowed: false, version: 1 });
    await setAcl(credential, BIG_ACL);
    expect(await ask(credential)).toMatchObject({ allowed: true, version: 1 });
    expect(await lineOf(credential)).toContain('"app.example.com:*"');
    await setAcl(credential, ['bind:web.example.com']);
    expect(await ask(credential)).toMatchObject({ allowed: false, version: 1 });
    expect(await lineOf(credential)).not.toContain('"app.example.com:*"');
  });

  it('are the rules of the oldest credentials, up to two thousand in all', async () => {
    const oldest = await newCredential(BIG_ACL);
    await addCredentials(oldest, 10);
    const counting = MAX_RULES_PER_KEY / BIG_ACL.length;
    const targets = [counting - 1, counting].map((n) => ({ domain: `more-${n}.example.com` }));
    const { decisions } = await ask(oldest, targets);
    expect(decisions).toMatchObject([{ allowed: true }, { allowed: false, reason: 'not_permitted' }]);
    expect((await lineOf(oldest)).match(/permitlisten/g)?.length).toBeGreaterThan(1000);
  });

  it('are the rules of the oldest hundred credentials with active owners', async () => {
    const user = await addUser(service, 'member');
    const oldest = await newCredential(['bind:web.example.com'], user.client);
    await addCredentials(oldest, 150);
    await service.admin.patch(`/users/${user.id}`, { active: false });
    expect(await ask(oldest)).toMatchObject({ reason: 'owner_inactive', credential_id: oldest.id });
    await service.pool.query(
      `update ssh_credentials set owner_id = $2 where fingerprint = $1 and id like 'sshcr_z%' and id >= 'sshcr_z00010'`,
      [oldest.fingerprint, owner.id],
    );
    const targets = [9, 10, 109, 110].map((n) => ({ domain: `more-${n}.example.com` }));
    const { decisions } = await ask(oldest, targets);
    expect(decisions.map(({ allowed }: { allowed: boolean }) => allowed)).toEqual([false, true, true, false]);
    expect((await lineOf(oldest)).match(/permitlisten/g)).toHaveLength(100);
  });
});

/** Calls `meanwhile` after the first read of a key. */
class InterruptedGrants extends CredentialGrants {
  constructor(
    pool: Pool,
    private readonly meanwhile: () => Promise<unknown>,
  ) {
    super(pool, new Set());
  }

  override async ofKey(gateway: object, fingerprint: string) {
    const read = await super.ofKey(gateway, fingerprint);
    await this.meanwhile();
    return read;
  }
}

describe('rules that are not cached are read by a second statement, which alone decides', () => {
  it('a deletion before it takes effect', async () => {
    const credential = await newCredential(BIG_ACL);
    const grants = new InterruptedGrants(service.pool, () => owner.client.delete(`/ssh_credentials/${credential.id}`));
    expect(await new KeyAccess(grants).ofKey({}, credential.fingerprint)).toMatchObject({ grants: [], live: [] });
  });

  it('a narrower ACL takes effect', async () => {
    const credential = await newCredential(BIG_ACL);
    const narrow = () => owner.client.patch(`/ssh_credentials/${credential.id}`, { acl: ['bind:web.example.com'] });
    const access = new KeyAccess(new InterruptedGrants(service.pool, narrow));
    const { live } = await access.ofKey({}, credential.fingerprint);
    expect(live.map(({ acl }) => acl.rules)).toEqual([['bind:web.example.com']]);
  });

  it('equal rules are compiled once, and read again by nobody', async () => {
    const [credential, equal] = [await newCredential(BIG_ACL), await newCredential(BIG_ACL)];
    const grants = new CredentialGrants(service.pool, new Set());
    const read = jest.spyOn(grants, 'withAclsOfKey');
    const access = new KeyAccess(grants);
    const acls = await Promise.all(
      [credential, equal].map(async ({ fingerprint }) => (await access.ofKey({}, fingerprint)).live[0]?.acl),
    );
    expect(acls[0]?.rules).toEqual(BIG_ACL);
    expect(acls[1]).toBe(acls[0]);
    expect((await access.ofKey({}, equal.fingerprint)).live[0]?.acl).toBe(acls[0]);
    expect(read).toHaveBeenCalledTimes(2);
  });

  it('the credentials of an inactive owner count for nothing there either', async () => {
    const user = await addUser(service, 'member');
    const oldest = await newCredential(BIG_ACL, user.client);
    await addCredentials(oldest, 3);
    await service.admin.patch(`/users/${user.id}`, { active: false });
    await service.pool.query(`update ssh_credentials set owner_id = $2 where fingerprint = $1 and id like 'sshcr_z%'`, [
      oldest.fingerprint,
      owner.id,
    ]);
    const targets = [1, 2, 3].map((n) => ({ domain: `more-${n}.example.com` }));
    const { decisions } = await ask(oldest, targets);
    expect(decisions.map(({ allowed }: { allowed: boolean }) => allowed)).toEqual([true, true, false]);
  });
});
