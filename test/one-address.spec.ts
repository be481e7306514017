import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { type TestCredential, upload } from './support/decisions.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, type TestPrincipal } from './support/principals.js';
import { GATEWAY_TOKEN, type Service, startCopy, startService } from './support/service.js';
import { ReportingGateway } from './support/session-reports.js';

/** Whose an address with several names is. The accounts reserve at one instance, and gateways ask another one. */
const TOKEN_OF_ONE = 'a-token-of-one-account-0123';
const POOL = { host: '1.tcp.example.com', from: 20_000, to: 20_099, region: '' };

let service: Service;
/** What is deleted here does not rest. */
let hasty: Service;
let a: TestPrincipal;
let b: TestPrincipal;
let keyOfA: TestCredential;
let keyOfB: TestCredential;
beforeAll(async () => {
  service = await startService({ gatewayTokens: [{ token: GATEWAY_TOKEN }], addressPools: [POOL] });
  [a, b] = [await addAccount(service), await addAccount(service)];
  const gatewayTokens = [{ token: GATEWAY_TOKEN }, { token: TOKEN_OF_ONE, accountId: b.accountId }];
  hasty = await startCopy(service, { gatewayTokens, addressPools: [POOL], reservationRestMs: 0 });
  [keyOfA, keyOfB] = [await credentialOf(a), await credentialOf(b)];
});
afterAll(async () => {
  await hasty.stop();
  await service.stop();
});

const credentialOf = ({ client }: TestPrincipal) => upload(service, client, { public_key: newPublicKey(), acl: [] });

let n = 0;
/** Two names of one address. */
function names(): readonly [string, string] {
  n += 1;
  return [`x${n}.example.com:7000`, `y${n}.example.org:7000`];
}

const isAddr = (name: string): boolean => name.includes(':');
const create = ({ client }: TestPrincipal, name: string) =>
  isAddr(name) ? client.post('/reserved_addrs', { addr: name }) : client.post('/reserved_domains', { domain: name });

/** Returns a function that deletes it. */
async function reserve(by: TestPrincipal, name: string) {
  const answer = await create(by, name);
  expect(answer).toMatchObject({ status: 201 });
  const path = `/reserved_${isAddr(name) ? 'addrs' : 'domains'}/${answer.body.id}`;
  const free = async (at = service) =>
    expect(await new ApiClient(at.app.url, by.client.token).delete(path)).toMatchObject({ status: 204 });
  return Object.assign(free, { id: answer.body.id as string });
}

/** The answers to A and to B, which do not depend on the name that is asked for, nor on the instance. */
async function reasons(of: readonly string[]): Promise<readonly string[]> {
  const asked = of.map((address) => ({ address, aliases: of.filter((name) => name !== address) }));
  const answers = [service, hasty].flatMap(({ gateway }) =>
    asked.map(async (target) => {
      const ask = async ({ fingerprint }: TestCredential) =>
        (await gateway.post('/ssh_gateway/authorize', { fingerprint, target })).body.reason;
      return [await ask(keyOfA), await ask(keyOfB)];
    }),
  );
  const [first = [], ...others] = await Promise.all(answers);
  for (const other of others) expect(other).toEqual(first);
  return first;
}

const FOR_A = ['permitted', 'reserved_elsewhere'];
const FOR_B = ['reserved_elsewhere', 'permitted'];
const FOR_NOBODY = ['not_reserved', 'not_reserved'];

describe('of two names of one address', () => {
  it('the older reservation decides; the later one never counts, nor its rest', async () => {
    const [x, y] = names();
    await reserve(a, x);
    const free = await reserve(b, y);
    expect(await reasons([x, y])).toEqual(FOR_A);
    await free();
    expect(await reasons([x, y])).toEqual(FOR_A);
    expect(await reasons([y])).toEqual(FOR_NOBODY);
  });

  it('what rests of the older one counts, and then the later one decides', async () => {
    const [x, y] = names();
    const free = await reserve(a, x);
    await reserve(b, y);
    await free();
    expect(await reasons([x, y])).toEqual(FOR_NOBODY);
    const [older, later] = names();
    const freeAtOnce = await reserve(a, older);
    await reserve(b, later);
    await freeAtOnce(hasty);
    expect(await reasons([older, later])).toEqual(FOR_B);
  });

  it('an account that deletes its older one keeps the address by the later one', async () => {
    const [x, y] = names();
    const free = await reserve(a, x);
    await reserve(a, y);
    await free();
    expect(await reasons([x, y])).toEqual(FOR_A);
    expect(await reasons([x])).toEqual(FOR_NOBODY);
  });

  it('a domain is as old as it is, though its account reserves an address at it later', async () => {
    const [x, y] = names();
    await reserve(a, '*.wild.example.com');
    await reserve(b, y);
    await reserve(a, x.replace('.example', '.wild.example'));
    expect(await reasons([x.replace('.example', '.wild.example'), y])).toEqual(FOR_A);
    expect(await reasons(['z.wild.example.com:7000', y])).toEqual(FOR_A);
  });

  it('the age is that of the database, whatever the clock of an instance says', async () => {
    const [x, y] = names();
    await reserve(a, x);
    const { id } = await reserve(b, y);
    await service.pool.query(`update reserved_addrs set created_at = created_at - interval '1 hour' where id = $1`, [
      id,
    ]);
    expect(await reasons([x, y])).toEqual(FOR_A);
  });

  it('one in a pool decides alone: nobody binds the address by another name of it', async () => {
    const [x] = names();
    const [pooled, other] = ['1.tcp.example.com:20007', x.replace(':7000', ':20007')];
    await reserve(b, other);
    expect(await reasons([pooled, other])).toEqual(FOR_NOBODY);
    await reserve(a, pooled);
    expect(await reasons([pooled, other])).toEqual(FOR_A);
  });

  it('a wildcard has no age: it is bound only by who may bind all under it', async () => {
    const [x] = names();
    const wild = `*.under-${x}`;
    await reserve(a, x);
    await reserve(b, wild.replace('*.', 'b.'));
    expect(await reasons([x, wild])).toEqual(['reserved_elsewhere', 'reserved_elsewhere']);
  });
});

describe('a gateway for all accounts', () => {
  const [x, y] = ['told.example.com', 'also.told.example.org'];
  const about = (...hosts: readonly (readonly [string, string])[]) => ({
    gateway: { hosts: hosts.map(([host, listen_address]) => ({ host, listen_address })) },
  });
  const told = (token: string, body: object) => new ReportingGateway(new ApiClient(hasty.app.url, token)).whole(body);
  beforeAll(async () => {
    const answers = [
      await told(GATEWAY_TOKEN, about([x, '0.0.0.0'], [y, '192.0.2.7'], ['other.example.net', '2001:db8::7'])),
      await told(GATEWAY_TOKEN, about([POOL.host, '192.0.2.8'], ['free.example.net', '192.0.2.8'])),
      await told(TOKEN_OF_ONE, about(['theirs.example.com', '192.0.2.9'], ['also.theirs.example.org', '192.0.2.9'])),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it.each([x, '*.example.com', '*.told.example.org'])(
    'lets nobody reserve the domain %s, which covers a host of it',
    async (domain) => {
      const refused = { status: 409, body: { msg: expect.stringContaining('all accounts share the host') } };
      expect(await create(b, domain)).toMatchObject(refused);
    },
  );

  it('lets nobody reserve another name of an address that another account has reserved, or had', async () => {
    const free = await reserve(a, `${x}:1`);
    const refused = { status: 409, body: { msg: expect.stringContaining(`is another name of '${x}:1'`) } };
    expect(await create(b, `${y}:1`)).toMatchObject(refused);
    for (const [by, name] of [
      [b, `${y}:2`],
      [b, 'other.example.net:1'],
      [a, `${y}:1`],
    ] as const)
      await reserve(by, name);
    await free();
    expect(await create(b, `${x}:1`)).toMatchObject({ status: 409 });
    const second = await reserve(a, `${x}:3`);
    await second();
    expect(await create(b, `${y}:3`)).toMatchObject({ status: 409 });
  });

  it('lets nobody reserve another name of an address in a pool, and takes no address of the pool from anybody', async () => {
    const other = await create(b, 'free.example.net:20001');
    expect(other).toMatchObject({ status: 409, body: { msg: expect.stringContaining('in a pool') } });
    await reserve(b, 'free.example.net:7');
    await reserve(a, `${POOL.host}:20001`);
  });

  it('repeats what was made before it said so', async () => {
    const once = { 'idempotency-key': 'before' };
    const make = () => b.client.post('/reserved_domains', { domain: 'late.example.net' }, once);
    const first = await make();
    await told(GATEWAY_TOKEN, about(['late.example.net', '192.0.2.10']));
    expect((await make()).body).toEqual(first.body);
  });

  it('of one account says nothing about the hosts of others', async () => {
    await reserve(a, 'theirs.example.com:1');
    await reserve(b, 'also.theirs.example.org:1');
    await reserve(b, '*.theirs.example.org');
  });

  it.each([
    ['hosts', 'gateway.hosts must be a list'],
    [[7], 'gateway.hosts[0] must be an object'],
    [[{ host: '*.example.com', listen_address: '::' }], "gateway.hosts[0].host '*.example.com' is not a host"],
    [[{ host: 'a.example.com' }], 'gateway.hosts[0].listen_address is missing'],
    [[{ host: 'a.example.com', listen_address: '::', port: 1 }], "'gateway.hosts[0].port' is not a field"],
    [Array(1_001).fill({}), 'gateway.hosts has 1001 items'],
  ])('is told which of its hosts cannot be read, case %#', async (hosts, msg) => {
    const refused = { status: 400, body: { msg: expect.stringContaining(msg) } };
    expect(await told(GATEWAY_TOKEN, { gateway: { hosts } })).toMatchObject(refused);
  });
});
