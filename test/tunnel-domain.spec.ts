import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseTunnelDomain } from '../src/rules/index.js';
import { type TestCredential, upload } from './support/decisions.js';
import { newPublicKey } from './support/keys.js';
import { addAccount } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { GATEWAY_TOKEN, type Service, startService } from './support/service.js';

/** TUNNEL_DOMAIN: names below the operator's domain, in the answers to gateways and to callers. */
const tunnelDomain = parseTunnelDomain('https://tunnels.example.com');
let service: Service;
const { expectRefusal } = refusalsOf(() => service);
let first: TestCredential;
let second: TestCredential;
beforeAll(async () => {
  service = await startService({ gatewayTokens: [{ token: GATEWAY_TOKEN }], tunnelDomain });
  const { client } = await addAccount(service);
  [first, second] = await Promise.all([
    upload(service, client, { public_key: newPublicKey() }),
    upload(service, client, { public_key: newPublicKey() }),
  ]);
});
afterAll(() => service.stop());

const reasonFor = async ({ fingerprint }: TestCredential, domain: string): Promise<string> =>
  (await service.gateway.post('/ssh_gateway/authorize', { fingerprint, target: { domain } })).body.reason;

it('is told to a gateway with each login', async () => {
  const { body } = await service.gateway.post('/ssh_gateway/identify', { fingerprint: first.fingerprint });
  expect(body.tunnel_domain).toBe('https://tunnels.example.com');
});

describe('below TUNNEL_DOMAIN', () => {
  it('a given name is bound by its credential alone, also beside one of the same account', async () => {
    const name = tunnelDomain.givenName(first.id);
    expect([await reasonFor(first, name), await reasonFor(second, name)]).toEqual(['permitted', 'reserved_elsewhere']);
  });

  it('other names are bound as anywhere', async () => {
    expect(await reasonFor(second, 'shop.tunnels.example.com')).toBe('permitted');
  });

  it.each(['tunnels.example.com', '*.tunnels.example.com', '*.a.tunnels.example.com', '*.example.com'])(
    'nobody binds %s, and nobody reserves it',
    async (domain) => {
      expect(await reasonFor(first, domain)).toBe('reserved_elsewhere');
      await expectRefusal(() => service.admin.post('/reserved_domains', { domain }), 409, 'ERR_TAS_409', /credentials/);
    },
  );

  it('nobody reserves a given name, and an account reserves any other one', async () => {
    const domain = tunnelDomain.givenName(first.id);
    await expectRefusal(() => service.admin.post('/reserved_domains', { domain }), 409, 'ERR_TAS_409', /credentials/);
    const answer = await service.admin.post('/reserved_domains', { domain: 'mine.tunnels.example.com' });
    expect(answer.status).toBe(201);
    expect(await reasonFor(first, 'mine.tunnels.example.com')).toBe('reserved_elsewhere');
  });
});
