import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { addAccount, addBot, addUser, type TestPrincipal } from './support/principals.js';
import { GATEWAY_TOKEN, type Service, startService } from './support/service.js';
import { ReportingGateway } from './support/session-reports.js';

const TOKEN_OF_ACCOUNT = 'token-of-one-account-0123456789';
const HOST_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB4d3XkgzFyHVGZ+LFUBdyDlGX+5Hh7hXIJO6X+fTPvs';
const SHARED = { address: 'ssh.example.com:2222', host_keys: [HOST_KEY] };

let service: Service;
beforeAll(async () => {
  const gatewayTokens = [{ token: GATEWAY_TOKEN }, { token: TOKEN_OF_ACCOUNT, accountId: 'ac_none' }];
  service = await startService({ gatewayTokens });
});
afterAll(() => service.stop());

describe('GET /caller', () => {
  it('says who calls: kind, name, role, account and key', async () => {
    const tenant = await addAccount(service);
    const { body } = await tenant.client.get('/caller');
    const { accountId: account_id, id } = tenant;
    expect(body).toMatchObject({
      id,
      kind: 'user',
      role: 'admin',
      account_id,
      api_key_id: expect.stringMatching(/^ak_/),
    });
    const auditor = await addUser(service, 'auditor', tenant.client);
    expect((await auditor.client.get('/caller')).body).toMatchObject({ kind: 'user', role: 'auditor', account_id });
    const bot = await addBot(service, tenant.client);
    const { body: named } = await tenant.client.get(`/bot_users/${bot.id}`);
    expect((await bot.client.get('/caller')).body).toMatchObject({ kind: 'bot', name: named.name, role: 'member' });
  });

  it('shows the gateways that serve the account and report now, each once', async () => {
    const tenant = await addAccount(service);
    const gateways = async ({ client }: TestPrincipal) => (await client.get('/caller')).body.gateways;
    const first = new ReportingGateway(service.gateway);
    await first.whole({ gateway: { hosts: [], ...SHARED } });
    await new ReportingGateway(service.gateway).whole({ gateway: { hosts: [], ...SHARED } });
    await new ReportingGateway(new ApiClient(service.app.url, TOKEN_OF_ACCOUNT)).whole({ gateway: { hosts: [] } });
    expect(await gateways(tenant)).toEqual([SHARED]);
    await service.pool.query('update gateway_runs set lost_at = now() where gateway_account is null');
    expect(await gateways(tenant)).toEqual([]);
  });

  it.each([
    ['ssh-ed25519', 'a type of key, a blank and the key in base64'],
    [`${HOST_KEY}\nssh-rsa AAAA`, 'a type of key, a blank and the key in base64'],
    [`@cert-authority ${HOST_KEY}`, 'a type of key, a blank and the key in base64'],
  ])('has no line that known_hosts would read as another one: %j', async (key, message) => {
    const gateway = { hosts: [], host_keys: [key] };
    const { status, body } = await new ReportingGateway(service.gateway).whole({ gateway });
    expect([status, body.msg]).toEqual([400, `gateway.host_keys[0] must be ${message}.`]);
  });
});
