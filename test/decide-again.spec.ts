import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { decideAgain, isRepeatable, LogTooShort } from '../src/api/gateway-api/decide-again/decide-again.js';
import { findDecision, type RecordedDecision } from '../src/api/gateway-api/decide-again/recorded-decision.js';
import { type TestCredential, untilWritten, upload } from './support/decisions.js';
import { expireNow } from './support/expire.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, addBot, addUser, type TestPrincipal } from './support/principals.js';
import { GATEWAY, GATEWAY_TOKEN, type Service, startCopy, startService } from './support/service.js';

/** Recorded decisions are made again from the log alone, as of the position that each of them records. */
let service: Service;
let tenant: TestPrincipal;

beforeAll(async () => {
  service = await startService(GATEWAY);
});
afterAll(() => service.stop());
beforeEach(async () => {
  tenant = await addAccount(service);
});

const DOMAIN = { domain: 'app.example.com' };

const credentialOf = (acl: readonly string[], { client }: TestPrincipal = tenant, public_key = newPublicKey()) =>
  upload(service, client, { public_key, acl });

/** Asks, and returns the recorded decision. */
async function ask(fingerprint: string, { target = DOMAIN as object, source = '203.0.113.9', by = service } = {}) {
  const { status } = await by.gateway.post('/ssh_gateway/authorize', { fingerprint, target, source });
  expect(status).toBe(200);
  await untilWritten(by.gateway);
  return newest(fingerprint);
}

const idsOf = async (fingerprint: string): Promise<string[]> => {
  const { rows } = await service.pool.query('select id from bind_decisions where fingerprint = $1 order by id', [
    fingerprint,
  ]);
  return rows.map(({ id }) => id);
};

const newest = async (fingerprint: string) => found((await idsOf(fingerprint)).at(-1) ?? '');

async function found(id: string): Promise<RecordedDecision> {
  const decision = await findDecision(service.pool, id);
  if (decision === undefined) throw new Error(`there is no decision ${id}`);
  return decision;
}

async function again(decision: RecordedDecision) {
  if (!isRepeatable(decision)) throw new Error('an earlier version made it');
  return decideAgain(service.app.database, decision);
}

const expectSame = async (decision: RecordedDecision) =>
  expect(await again(decision)).toEqual({ answer: decision.answer, differences: [], isUnsettled: false });

/** Edits the record as someone does who may switch triggers off. */
async function edit(id: string, change: string): Promise<RecordedDecision> {
  const client = await service.pool.connect();
  try {
    await client.query(
      `begin; set local session_replication_role = replica; update bind_decisions set ${change} where id = '${id}'; commit`,
    );
  } finally {
    client.release();
  }
  return found(id);
}

/** The other account has won the race for the key: its credential, with its event, is older. */
const racedBy = ({ id }: TestCredential, newId: string, { accountId }: TestPrincipal) =>
  service.pool.query(
    `with logged as (
       insert into events select $3, h.size + 1, $2, 1, gen_random_uuid(), e.type, e.data, e.metadata, e.occurred_at,
         h.recorded_at + interval '1 microsecond', '' from log_heads h, events e where h.account_id = $3 and e.stream_id = $1),
     head as (update log_heads set size = size + 1, recorded_at = recorded_at + interval '1 microsecond' where account_id = $3)
     insert into ssh_credentials (account_id, id, version, created_at, description, metadata, public_key, acl, owner_id, key_type,
       key_bits, key_blob, fingerprint, exclusive)
     select $3, $2, version, created_at, description, metadata, public_key, acl, owner_id, key_type, key_bits, key_blob,
       fingerprint, exclusive from ssh_credentials where id = $1`,
    [id, newId, accountId],
  );

const headOf = async ({ accountId }: TestPrincipal): Promise<number> => {
  const { rows } = await service.pool.query('select size from log_heads where account_id = $1', [accountId]);
  return Number(rows[0].size);
};

describe('GET /bind_decisions', () => {
  it('shows the position, the rule and the time that a decision was made by', async () => {
    const { fingerprint } = await credentialOf(['bind:k=v', 'bind:*.example.com', 'bind:app.example.com']);
    await ask(fingerprint);
    await ask(fingerprint, { target: { domain: 'app.example.net' } });
    const [refused, permitted] = (await tenant.client.get('/bind_decisions')).body.bind_decisions;
    const common = { log_position: await headOf(tenant), read_at: expect.stringMatching(/^\d{4}-.*Z$/) };
    expect(permitted).toMatchObject({ ...common, rule_index: 1, matched_rule: 'bind:*.example.com' });
    expect(refused).toMatchObject({ ...common, rule_index: null, reason: 'not_permitted' });
    expect(Math.abs(Date.parse(permitted.read_at) - Date.parse(permitted.decided_at))).toBeLessThan(60_000);
  });
});

describe('a decision made again', () => {
  it('has the same answer after its credential was widened, narrowed, replaced and deleted, and its owner too', async () => {
    const user = await addUser(service, 'member', tenant.client);
    const { id, fingerprint } = await credentialOf(['bind:app.example.com'], user);
    const path = `/ssh_credentials/${id}`;
    const decisions = [await ask(fingerprint), await ask(fingerprint, { target: { domain: 'other.example.com' } })];
    await tenant.client.patch(path, { acl: ['*'] });
    decisions.push(await ask(fingerprint, { target: { domain: 'other.example.com' } }));
    await tenant.client.patch(`/users/${user.id}`, { active: false });
    decisions.push(await ask(fingerprint));
    await tenant.client.patch(`/users/${user.id}`, { active: true });
    await tenant.client.delete(path);
    decisions.push(await ask(fingerprint));
    await tenant.client.delete(`/users/${user.id}`);
    expect(decisions.map(({ answer }) => answer.reason)).toEqual([
      'permitted',
      'not_permitted',
      'permitted',
      'owner_inactive',
      'unknown_key',
    ]);
    for (const decision of decisions) await expectSame(decision);
  });

  it('knows what had expired by the clock of the database, to the millisecond', async () => {
    const { id, fingerprint } = await credentialOf([]);
    const inAnHour = new Date(Date.now() + 3_600_000);
    await tenant.client.put(`/ssh_credentials/${id}/expiry`, { expires_at: inAnHour });
    const valid = await ask(fingerprint);
    await expireNow(tenant.client, `/ssh_credentials/${id}`);
    const expired = await ask(fingerprint);
    expect([valid.answer.reason, expired.answer.reason]).toEqual(['permitted', 'expired']);
    await expectSame(valid);
    await expectSame(expired);
    const later = await edit(valid.id, `read_at = read_at + interval '2 hours'`);
    expect((await again(later)).answer.reason).toBe('expired');
    const earlier = await edit(expired.id, `read_at = read_at - interval '2 hours'`);
    expect((await again(earlier)).answer.reason).toBe('permitted');
  });

  it('knows where the tunnel came from', async () => {
    const { id, fingerprint } = await credentialOf([]);
    await tenant.client.put(`/ssh_credentials/${id}/source_restriction`, { cidrs: ['203.0.113.0/24'] });
    const [here, elsewhere] = [await ask(fingerprint), await ask(fingerprint, { source: '[2001:db8::1]:22' })];
    expect([here.answer.reason, elsewhere.answer.reason]).toEqual(['permitted', 'source_not_allowed']);
    await tenant.client.delete(`/ssh_credentials/${id}/source_restriction`);
    await expectSame(here);
    await expectSame(elsewhere);
  });

  it('refuses an unknown key again, also after someone has uploaded it', async () => {
    const public_key = newPublicKey();
    const { id, fingerprint } = await credentialOf([], tenant, public_key);
    await tenant.client.delete(`/ssh_credentials/${id}`);
    const unknown = await ask(fingerprint);
    expect(unknown).toMatchObject({ logPosition: null, answer: { reason: 'unknown_key', account_id: null } });
    await credentialOf([], tenant, public_key);
    await expectSame(unknown);
    const later = await edit(unknown.id, `read_at = now() + interval '1 hour'`);
    expect(await again(later)).toMatchObject({ answer: { reason: 'permitted' }, isUnsettled: false });
  });

  it('tells a refusal of a key whose upload was perhaps not committed yet', async () => {
    const { fingerprint } = await credentialOf([]);
    const { id } = await ask(fingerprint);
    const refused = `account_id = '', allowed = false, reason = 'unknown_key', rule = null, log_position = null,
      credential_id = '', credential_version = null, owner_id = ''`;
    const decision = await edit(id, refused);
    expect(await again(decision)).toMatchObject({ differences: [], isUnsettled: true });
    const minuteLater = await edit(id, `read_at = read_at + interval '1 minute'`);
    expect((await again(minuteLater)).differences).toContain('reason');
  });

  it('counts the credentials of the account that had the key first', async () => {
    const other = await addAccount(service);
    const second = await credentialOf(['bind:app.example.com']);
    const first = { id: `sshcr_${'0'.repeat(27)}` };
    await racedBy(second, first.id, other);
    const ofOther = await ask(second.fingerprint);
    await other.client.delete(`/ssh_credentials/${first.id}`);
    const ofTenant = await ask(second.fingerprint);
    expect(ofOther.answer).toMatchObject({ allowed: true, account_id: other.accountId, credential_id: first.id });
    expect(ofTenant.answer).toMatchObject({ allowed: true, account_id: tenant.accountId });
    await expectSame(ofOther);
    await expectSame(ofTenant);
  });

  it('knows the account of the gateway, and that the key was on the deny list', async () => {
    const { fingerprint } = await credentialOf([]);
    const other = await addAccount(service);
    const ofOther = { gatewayTokens: [{ token: GATEWAY_TOKEN, name: 'one', accountId: other.accountId }] };
    for (const settings of [ofOther, { ...GATEWAY, deniedFingerprints: new Set([fingerprint]) }]) {
      const copy = await startCopy(service, settings);
      const { status } = await copy.gateway.post('/ssh_gateway/authorize', { fingerprint, target: DOMAIN });
      expect(status).toBe(200);
      await copy.stop();
      const decision = await newest(fingerprint);
      expect(decision.answer.reason).toBe('unknown_key');
      await expectSame(decision);
    }
    const [ofGateway = '', denied = ''] = await idsOf(fingerprint);
    const forAll = await edit(ofGateway, `gateway_account = null, read_at = read_at + interval '1 hour'`);
    expect((await again(forAll)).answer.reason).toBe('permitted');
    const notDenied = await edit(denied, `key_denied = false, read_at = now() + interval '1 hour'`);
    expect((await again(notDenied)).answer.reason).toBe('permitted');
  });

  it.each([
    [
      'a refusal into a permission',
      { domain: 'x.example' },
      `allowed = true, reason = 'permitted'`,
      ['allowed', 'reason'],
    ],
    ['the rule', DOMAIN, `rule = '*'`, ['matched_rule']],
    ['the index of the rule', DOMAIN, 'rule_index = 1', ['rule_index']],
    ['the target', DOMAIN, `target = '{"domain": "y.example"}'`, ['allowed', 'reason', 'matched_rule', 'rule_index']],
    ['the version', DOMAIN, 'credential_version = 7', ['version']],
    ['the owner', DOMAIN, `owner_id = 'usr_other'`, ['owner_id']],
    [
      'the position',
      DOMAIN,
      'log_position = 1',
      ['allowed', 'reason', 'matched_rule', 'rule_index', 'account_id', 'credential_id', 'version', 'owner_id'],
    ],
  ])('differs if someone has edited %s of the record', async (_, target, change, differences) => {
    const { fingerprint } = await credentialOf(['bind:app.example.com']);
    const decision = await ask(fingerprint, { target });
    await expectSame(decision);
    expect((await again(await edit(decision.id, change))).differences).toEqual(differences);
  });

  it('counts the rules of a key up to the maximum of the time that the record names, or of the time without one', async () => {
    const public_key = newPublicKey();
    const acl = Array.from({ length: 999 }, (_, n) => `bind:host-${n}.example.com`);
    for (const last of ['a', 'b', 'c']) await credentialOf([...acl, `bind:${last}.example.com`], tenant, public_key);
    const { fingerprint } = await credentialOf([], tenant, public_key);
    const decision = await ask(fingerprint, { target: { domain: 'c.example.com' } });
    expect([decision.maxRules, decision.answer.reason]).toEqual([2_000, 'not_permitted']);
    await expectSame(decision);
    for (const [change, maxRules] of [
      ['max_rules = 3000', 3_000],
      ['max_rules = null', 10_000],
    ] as const) {
      const edited = await edit(decision.id, change);
      expect(edited.maxRules).toBe(maxRules);
      expect((await again(edited)).answer.reason).toBe('permitted');
    }
  });

  it('is impossible if the log lost the events that it was made from', async () => {
    const { fingerprint } = await credentialOf([]);
    const { id } = await ask(fingerprint);
    await expect(again(await edit(id, 'log_position = log_position + 1'))).rejects.toThrow(LogTooShort);
  });

  it('does not look at the live tables', async () => {
    const { id, fingerprint } = await credentialOf(['bind:app.example.com']);
    const decision = await ask(fingerprint);
    await service.pool.query(`update ssh_credentials set acl = '{}', version = 9 where id = $1`, [id]);
    await service.pool.query('update principals set active = false where id = $1', [tenant.id]);
    await expectSame(decision);
  });
});

it('each decision has the position of the very rows that it was made from, while they change', async () => {
  const bot = await addBot(service, tenant.client);
  const { id, fingerprint } = await credentialOf(['bind:app.example.com', 'bind:x=0'], bot);
  let isDone = false;
  const change = async (): Promise<void> => {
    for (let n = 1; !isDone; n += 1) {
      const acl = n % 3 === 0 ? [] : [...Array(n % 3).fill('bind:other.example.com'), 'bind:app.example.com'];
      await tenant.client.patch(`/ssh_credentials/${id}`, { acl });
      if (n % 4 === 0) await tenant.client.patch(`/bot_users/${bot.id}`, { active: n % 8 === 0 });
    }
  };
  const changes = change();
  const asks = Array.from({ length: 3 }, async () => {
    for (let n = 0; n < 12; n += 1)
      await service.gateway.post('/ssh_gateway/authorize', { fingerprint, target: DOMAIN });
  });
  await Promise.all(asks);
  isDone = true;
  await changes;
  await untilWritten(service.gateway);
  const answers = new Set<string>();
  for (const decisionId of await idsOf(fingerprint)) {
    const decision = await found(decisionId);
    await expectSame(decision);
    answers.add(`${decision.answer.reason} ${decision.answer.rule_index}`);
  }
  expect(answers.size).toBeGreaterThan(2);
});

/** The credentials of a key: of an admin, a user that is deactivated or a bot that is deleted; expired; restricted in its sources. */
const KEYS = [
  'A',
  'A-expired',
  'U',
  'U-expired A-expired',
  'A-expired A-expired U',
  'A-restricted',
  'A-restricted A',
  'B A-expired',
  'B',
  'U-expired B A-expired-restricted A',
];

it('any key has the same grants from the log as from the tables', async () => {
  const [user, bot] = [await addUser(service, 'member', tenant.client), await addBot(service, tenant.client)];
  const fingerprints: string[] = [];
  for (const key of KEYS) {
    const public_key = newPublicKey();
    for (const [n, words] of key.split(' ').entries()) {
      const owner = words.startsWith('U') ? user : words.startsWith('B') ? bot : tenant;
      const { id, fingerprint } = await credentialOf([`bind:h${n}.example.com`], owner, public_key);
      if (n === 0) fingerprints.push(fingerprint);
      const path = `/ssh_credentials/${id}`;
      if (words.includes('expired')) await expireNow(tenant.client, path);
      if (words.includes('restricted')) {
        await tenant.client.put(`${path}/source_restriction`, { cidrs: ['192.0.2.0/24'] });
      }
    }
  }
  await tenant.client.patch(`/users/${user.id}`, { active: false });
  const target = [0, 1, 2, 3].map((n) => ({ domain: `h${n}.example.com` }));
  const askAll = () => Promise.all(fingerprints.map((fingerprint) => ask(fingerprint, { target })));
  await askAll();
  await tenant.client.delete(`/bot_users/${bot.id}`);
  await askAll();
  const reasons = new Set<string>();
  for (const id of (await Promise.all(fingerprints.map(idsOf))).flat()) {
    const decision = await found(id);
    await expectSame(decision);
    reasons.add(decision.answer.reason);
  }
  const expected = ['expired', 'not_permitted', 'owner_inactive', 'permitted', 'source_not_allowed', 'unknown_key'];
  expect([...reasons].sort()).toEqual(expected);
});
