import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type TestCredential, untilWritten, upload } from './support/decisions.js';
import { EventStream } from './support/event-stream.js';
import { eventually } from './support/eventually.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, type TestPrincipal } from './support/principals.js';
import { GATEWAY_TOKEN, type Service, startService } from './support/service.js';

/** Whose an address or a domain is, in the answers to gateways and to callers that ask before. */
let service: Service;
let a: TestPrincipal;
let b: TestPrincipal;
let keyOfA: TestCredential;
let keyOfB: TestCredential;
const TOKEN_OF_ONE = 'a-token-of-one-account-0123';
const POOL_HOST = '1.tcp.example.com';
beforeAll(async () => {
  service = await startService({
    gatewayTokens: [{ token: GATEWAY_TOKEN }],
    addressPools: [{ host: POOL_HOST, from: 20_000, to: 20_100, region: '' }],
  });
  [a, b] = await Promise.all([addAccount(service), addAccount(service)]);
  [keyOfA, keyOfB] = await Promise.all([credentialOf(a), credentialOf(b)]);
});
afterAll(() => service.stop());

let n = 0;
const newName = (): string => {
  n += 1;
  return `name-${n}.example.com`;
};
const credentialOf = ({ client }: TestPrincipal, acl: readonly string[] = []) =>
  upload(service, client, { public_key: newPublicKey(), acl });

async function reserve({ client }: TestPrincipal, body: { addr?: string; domain?: string }) {
  const path = body.domain === undefined ? '/reserved_addrs' : '/reserved_domains';
  const answer = await client.post(path, body);
  expect(answer.status).toBe(201);
  return { ...answer.body, free: () => client.delete(`${path}/${answer.body.id}`) };
}

const reasonFor = async ({ fingerprint }: TestCredential, target: object): Promise<string> =>
  (await service.gateway.post('/ssh_gateway/authorize', { fingerprint, target })).body.reason;

/** The answers to both keys. */
const reasons = async (target: object) => [await reasonFor(keyOfA, target), await reasonFor(keyOfB, target)];

const FOR_A = ['permitted', 'reserved_elsewhere'];

describe('a reserved address', () => {
  it('is bound by its account alone, also beside credentials without rules, and by no wildcard over it', async () => {
    const parent = newName();
    const name = `x.${parent}`;
    await reserve(a, { addr: `${name}:7000` });
    expect(await reasons({ address: `${name}:7000` })).toEqual(FOR_A);
    expect(await reasons({ domain: name })).toEqual(FOR_A);
    expect(await reasons({ address: `${name}:7001` })).toEqual(['permitted', 'permitted']);
    for (const target of [{ domain: `*.${parent}` }, { address: `*.${parent}:7000` }]) {
      expect(await reasonFor(keyOfB, target)).toBe('reserved_elsewhere');
    }
  });

  it('is not bound by another name of the same listener', async () => {
    const name = newName();
    await reserve(a, { addr: `${name}:7000` });
    expect(await reasons({ address: 'localhost:7000', aliases: [`${name}:7000`] })).toEqual(FOR_A);
    for (const aliases of [['no port'], [7], 'x:1', Array.from({ length: 1_001 }, () => 'x:1')]) {
      const target = { address: 'localhost:7000', aliases };
      const { status } = await service.gateway.post('/ssh_gateway/authorize', { ...keyOfB, target });
      expect(status).toBe(400);
    }
  });

  it('is judged after the key, and before its rules', async () => {
    const name = newName();
    await reserve(a, { addr: `${name}:7000` });
    const ruled = await credentialOf(b, ['bind:elsewhere.example']);
    expect(await reasonFor(ruled, { address: `${name}:7000` })).toBe('reserved_elsewhere');
    expect(await reasonFor({ ...ruled, fingerprint: `SHA256:${'A'.repeat(43)}` }, { address: `${name}:7000` })).toBe(
      'unknown_key',
    );
  });

  it('rests after its deletion: nobody binds it until its account has reserved it again', async () => {
    const target = { address: `${newName()}:7000` };
    const { free, addr } = await reserve(a, { addr: target.address });
    await free();
    expect(await reasons(target)).toEqual(['not_reserved', 'not_reserved']);
    await reserve(a, { addr });
    expect(await reasons(target)).toEqual(FOR_A);
  });
});

describe('a reserved domain', () => {
  it('is bound by its account alone, with all addresses at it and, of a wildcard, all names under it', async () => {
    const [name, wild] = [newName(), newName()];
    await reserve(a, { domain: name });
    await reserve(a, { domain: `*.${wild}` });
    const [deepest, deep] = [`${'l.'.repeat(6)}${newName()}`, `${'l.'.repeat(100)}${newName()}`];
    await reserve(a, { domain: `*.${deepest}` });
    await reserve(a, { domain: deep });
    for (const target of [
      { domain: name },
      { address: `${name}:443` },
      { domain: `x.y.${wild}` },
      { address: `x.${wild}:1` },
      { domain: `*.x.${wild}` },
      { address: `${'x.'.repeat(90)}${deepest}:1` },
      { address: `${deep}:1` },
    ]) {
      expect(await reasons(target)).toEqual(FOR_A);
    }
    for (const target of [{ domain: wild }, { domain: `x.${name}` }, { label: { key: 'app', value: name } }]) {
      expect(await reasons(target)).toEqual(['permitted', 'permitted']);
    }
  });

  it('rests after its deletion, with the names under it, but for those that are reserved themselves', async () => {
    const name = newName();
    const { free } = await reserve(a, { domain: `*.${name}` });
    await reserve(a, { domain: `kept.${name}` });
    await free();
    expect(await reasons({ domain: `x.${name}` })).toEqual(['not_reserved', 'not_reserved']);
    expect(await reasons({ domain: `kept.${name}` })).toEqual(FOR_A);
  });
});

describe('a port of a pool', () => {
  it('is bound by nobody until it is reserved, also as any port of the host', async () => {
    expect(await reasons({ address: `${POOL_HOST}:20001` })).toEqual(['not_reserved', 'not_reserved']);
    expect(await reasons({ address: `${POOL_HOST}:0` })).toEqual(['not_reserved', 'not_reserved']);
    for (const domain of [POOL_HOST, '*.tcp.example.com']) {
      expect(await reasons({ domain })).toEqual(['not_reserved', 'not_reserved']);
    }
    expect(await reasons({ address: `${POOL_HOST}:19999` })).toEqual(['permitted', 'permitted']);
    const { addr } = await reserve(a, {});
    expect(await reasons({ address: addr })).toEqual(FOR_A);
  });
});

describe('those who ask before', () => {
  it('get the same answer by the check of a credential and of rules', async () => {
    const name = newName();
    await reserve(a, { domain: name });
    const { body: reserved } = await a.client.get('/reserved_addrs');
    const taken = reserved.reserved_addrs.map(({ addr }: { addr: string }) => addr);
    // Another test has reserved a random one.
    const free = [`${POOL_HOST}:20002`, `${POOL_HOST}:20003`].find((address) => !taken.includes(address));
    const target = [{ domain: name }, { address: free }];
    for (const [by, key, first] of [
      [a, keyOfA, 'permitted'],
      [b, keyOfB, 'reserved_elsewhere'],
    ] as const) {
      const ofCredential = await by.client.post(`/ssh_credentials/${key.id}/check`, { target });
      const ofRules = await by.client.post('/acl/check', { acl: [], target });
      for (const { body } of [ofCredential, ofRules]) {
        const found = body.decisions.map(({ reason }: { reason: string }) => reason);
        expect(found).toEqual([first, 'not_reserved']);
      }
    }
  });
});

describe('the record', () => {
  it('has the reason', async () => {
    const target = { address: `${newName()}:7000` };
    await reserve(a, { addr: target.address });
    await reasonFor(keyOfB, { ...target, aliases: ['localhost:7000'] });
    await untilWritten(service.gateway);
    const { body } = await b.client.get('/bind_decisions?limit=1');
    expect(body.bind_decisions).toMatchObject([{ reason: 'reserved_elsewhere', allowed: false, target }]);
  });
});

describe('lines for stock sshd', () => {
  it('permit what the account has reserved, and nothing that is reserved for others', async () => {
    const name = newName();
    await reserve(a, { domain: name });
    await reserve(b, { addr: `${name}-not:7000` });
    const own = await credentialOf(b, [`bind:${name}`, 'bind:free.example', `bind:${POOL_HOST}`, `bind:${name}-not`]);
    const linesOf = async (fingerprint: string): Promise<string> => {
      const query = new URLSearchParams({ type: 'ssh-ed25519', fingerprint });
      return (await service.gateway.get(`/ssh_gateway/authorized_keys?${query}`)).body;
    };
    const listensOf = (text: string) => [...text.matchAll(/permitlisten="([^"]*)"/g)].map(([, listen]) => listen);
    expect(listensOf(await linesOf(own.fingerprint))).toEqual(['free.example:*', `${name}-not:*`]);
    expect(listensOf(await linesOf(keyOfB.fingerprint))).toEqual([`${name}-not:7000`]);
    expect(listensOf(await linesOf(keyOfA.fingerprint))).toContain(`${name}:*`);
  });
});

describe('a question', () => {
  it('has at most 1,000 names of 32 KiB, targets and aliases together; a check takes no aliases', async () => {
    const aliases = Array.from({ length: 100 }, (_, n) => `h${n}.example.com:1`);
    const targetOf = (n: number) => ({ address: `${newName()}:${n + 1}`, aliases });
    const ask = (targets: readonly object[]) =>
      service.gateway.post('/ssh_gateway/authorize', { fingerprint: keyOfA.fingerprint, target: targets });
    const many = (count: number) => Array.from({ length: count }, (_, n) => targetOf(n));
    expect((await ask(many(9))).status).toBe(200);
    const names = /are 1010 names of \d+ bytes in all; the maximum is 1000 of 32768 bytes/;
    expect(await ask(many(10))).toMatchObject({ status: 400, body: { msg: expect.stringMatching(names) } });
    const long = (count: number) => Array(count).fill({ domain: `${'a.'.repeat(64)}a` });
    expect((await ask(long(254))).status).toBe(200);
    const bytes = /are 255 names of 32895 bytes in all/;
    expect(await ask(long(255))).toMatchObject({ status: 400, body: { msg: expect.stringMatching(bytes) } });
    const target = targetOf(1);
    for (const [path, body] of [
      [`/ssh_credentials/${keyOfA.id}/check`, { target }],
      ['/acl/check', { acl: [], target }],
    ] as const) {
      const refused = await a.client.post(path, body);
      expect(refused).toMatchObject({ status: 400, body: { msg: expect.stringContaining('takes only') } });
    }
  });

  it('about a wildcard over what one account has and what of another one rests is answered with no', async () => {
    const name = newName();
    await reserve(a, { domain: `a.${name}` });
    expect(await reasons({ domain: `*.${name}` })).toEqual(FOR_A);
    await (await reserve(b, { domain: `b.${name}` })).free();
    expect(await reasons({ domain: `*.${name}` })).toEqual(['reserved_elsewhere', 'reserved_elsewhere']);
  });
});

describe('a repeated question', () => {
  it('is recorded if it is refused, and not if it is permitted', async () => {
    const name = newName();
    await reserve(a, { domain: name });
    const ask = async (repeated?: boolean) => {
      const body = { fingerprint: keyOfB.fingerprint, target: [{ domain: name }, { domain: `x.${name}` }], repeated };
      return (await service.gateway.post('/ssh_gateway/authorize', body)).body.decisions.map(
        ({ reason }: { reason: string }) => reason,
      );
    };
    const recorded = async () => {
      const { rows } = await service.pool.query(
        `select reason from bind_decisions where target::text like $1 order by id`,
        [`%${name}%`],
      );
      return rows.map(({ reason }) => reason);
    };
    const both = ['reserved_elsewhere', 'permitted'];
    expect(await ask(true)).toEqual(both);
    expect(await ask()).toEqual(both);
    await eventually(async () => expect(await recorded()).toEqual(['reserved_elsewhere', ...both]));
  });
});

describe('gateways', () => {
  it('hear of each reservation that is made or deleted, and no name of an account that they do not serve', async () => {
    const one = await startService({
      gatewayTokens: [{ token: GATEWAY_TOKEN }, { token: TOKEN_OF_ONE, accountId: 'ac_3MSH1YH1pfqRL0tXy3dC8OFwmhq' }],
    });
    const streams = await Promise.all(
      [GATEWAY_TOKEN, TOKEN_OF_ONE].map((token) => EventStream.open(`${one.app.url}/ssh_gateway/changes`, token)),
    );
    await Promise.all(streams.map((stream) => stream.until(1)));
    const expectTold = async (count: number, name: string): Promise<void> => {
      for (const [n, stream] of streams.entries()) {
        await stream.until(count);
        const data = n === 0 ? { names: [name], of_others: false } : { names: [], of_others: true };
        expect(stream.messages.slice(count - 1)).toMatchObject([{ event: 'reserved', data }]);
      }
    };
    const { body } = await one.admin.post('/reserved_domains', { domain: '*.a.example' });
    await expectTold(2, '*.a.example');
    await one.admin.patch(`/reserved_domains/${body.id}`, { description: 'x' });
    await one.admin.post('/reserved_addrs', { addr: 'b.example:1' });
    await expectTold(3, 'b.example:1');
    await one.admin.delete(`/reserved_domains/${body.id}`);
    await expectTold(4, '*.a.example');
    await one.stop();
  });

  it('learn by a recheck whether reservations changed since the last one', async () => {
    const recheck = async (body: object) => (await service.gateway.post('/ssh_gateway/recheck', body)).body;
    const first = await recheck([]);
    expect(first).toEqual({ changed: [], reservations: expect.any(String), reservations_changed: true });
    const again = await recheck({ credentials: [], reservations: first.reservations });
    expect(again.reservations_changed).toBe(false);
    await reserve(a, { domain: newName() });
    const since = { credentials: [], reservations: again.reservations };
    expect((await recheck(since)).reservations_changed).toBe(true);
    for (const text of ['', 'x', Buffer.from('5:3:;x;y').toString('base64url')]) {
      expect((await recheck({ credentials: [], reservations: text })).reservations_changed).toBe(true);
    }
  });
});
