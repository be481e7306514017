import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { networksIn, parseTunnelDomain } from '../src/rules/index.js';
import { withDatabaseThatGoes } from './support/answer-swallowing-proxy.js';
import { ApiClient } from './support/api-client.js';
import { type TestCredential, upload } from './support/decisions.js';
import { newPublicKey } from './support/keys.js';
import { ADMIN_KEY, type Service, startCopy, startService } from './support/service.js';

/** GET /tls_ask: for which names a proxy gets certificates. */
const tunnelDomain = parseTunnelDomain('https://tunnels.example.com');
let service: Service;
let credential: TestCredential;
beforeAll(async () => {
  service = await startService({ tunnelDomain });
  credential = await upload(service, service.admin, { public_key: newPublicKey() });
  for (const domain of ['app.example.com', '*.wild.example.com']) {
    expect((await service.admin.post('/reserved_domains', { domain })).status).toBe(201);
  }
});
afterAll(() => service.stop());

function ask(domain: string, headers: Readonly<Record<string, string>> = {}, url = service.app.url): Promise<number> {
  return new Promise((resolve, reject) => {
    request(`${url}/tls_ask?domain=${encodeURIComponent(domain)}`, { headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    })
      .once('error', reject)
      .end();
  });
}

describe('a certificate', () => {
  it.each(['app.example.com', 'APP.example.com.'])('is for %s, which is reserved', async (domain) => {
    expect(await ask(domain)).toBe(200);
  });

  it('is for the given name of a credential, while there is the credential', async () => {
    const other = await upload(service, service.admin, { public_key: newPublicKey() });
    const names = [credential, other].map(({ id }) => tunnelDomain.givenName(id));
    expect(await Promise.all(names.map((name) => ask(name)))).toEqual([200, 200]);
    await service.admin.delete(`/ssh_credentials/${other.id}`);
    expect(await Promise.all(names.map((name) => ask(name)))).toEqual([200, 404]);
  });

  it.each([
    ['another name', 'other.example.com'],
    ['a name under a wildcard', 'a.wild.example.com'],
    ['the wildcard', '*.wild.example.com'],
    ['a name that could be given', 'abcdefghij27.tunnels.example.com'],
    ['what is no name', 'app.example.com/..'],
    ['nothing', ''],
  ])('is not for %s', async (_, domain) => {
    expect(await ask(domain)).toBe(404);
  });

  it.each(['x-forwarded-for', 'x-forwarded-proto', 'forwarded', 'x-real-ip', 'via'])(
    'is told to nobody who comes through a proxy, as %s says',
    async (header) => {
      expect(await ask('app.example.com', { [header]: '127.0.0.1' })).toBe(404);
    },
  );

  it('is told to no peer but those of TLS_ASK_FROM', async () => {
    const copy = await startCopy(service, { tunnelDomain, tlsAskFrom: networksIn('192.0.2.10') });
    try {
      expect(await ask('app.example.com', {}, copy.app.url)).toBe(404);
    } finally {
      await copy.stop();
    }
  });

  it('is told as at the last answer while the database is away', () =>
    withDatabaseThatGoes(
      async (app, proxy) => {
        const own = new ApiClient(app.url, ADMIN_KEY);
        for (const domain of ['a.example.com', 'b.example.com'])
          expect((await own.post('/reserved_domains', { domain })).status).toBe(201);
        expect(await ask('a.example.com', {}, app.url)).toBe(200);
        proxy.goAway();
        const answers = ['a.example.com', 'b.example.com', 'c.example.com'].map((name) => ask(name, {}, app.url));
        expect(await Promise.all(answers)).toEqual([200, 503, 503]);
        proxy.comeBack();
        expect(await ask('b.example.com', {}, app.url)).toBe(200);
      },
      { tunnelDomain },
    ));
});
