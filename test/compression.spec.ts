import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MIN_COMPRESSED_BYTES } from '../src/api/http/hooks/compress.js';
import { startBareServer } from './support/bare-server.js';
import { newPublicKey } from './support/keys.js';
import { AUTHORIZATION, call } from './support/raw-http.js';
import { type Service, startCopy, startService } from './support/service.js';

const CREDENTIALS = 30;

let service: Service;
beforeAll(async () => {
  service = await startService();
  for (let n = 0; n < CREDENTIALS; n += 1) await service.admin.post('/ssh_credentials', { public_key: newPublicKey() });
});
afterAll(() => service.stop());

const send = (method: string, path: string, headers?: Record<string, string>, body?: string) =>
  call(service.app.url, method, path, headers, body);

describe('compression', () => {
  const list = (encoding?: string) =>
    send('GET', '/ssh_credentials', { ...AUTHORIZATION, ...(encoding && { 'accept-encoding': encoding }) });

  it.each([['gzip'], ['gzip, deflate, br, zstd'], ['br;q=0.2, GZIP'], ['*'], ['identity;q=0.1, gzip;q=0.2']])(
    'gzips a list for Accept-Encoding: %s',
    async (accepted) => {
      const [plain, { headers, bytes }] = [await list(), await list(accepted)];
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(headers['content-encoding']).toBe('gzip');
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      expect(headers['content-length']).toBe(String(bytes.length));
      expect(bytes.length).toBeLessThan(plain.bytes.length / 2);
      expect(gunzipSync(bytes).toString()).toBe(plain.bytes.toString());
      expect([plain.headers.vary, headers.vary]).toEqual(['Accept-Encoding', 'Accept-Encoding']);
    },
  );

  it.each([['identity'], ['gzip;q=0'], ['deflate'], ['br'], ['identity, gzip;q=0.5'], [',;q=']])(
    'does not compress a list for Accept-Encoding: %s',
    async (accepted) => {
      const { headers, bytes } = await list(accepted);
      expect(headers['content-encoding']).toBeUndefined();
      expect(JSON.parse(bytes.toString()).ssh_credentials).toHaveLength(CREDENTIALS);
    },
  );

  it('does not compress a short list or an error', async () => {
    const headers = { ...AUTHORIZATION, 'accept-encoding': 'gzip' };
    const short = await send('GET', '/ssh_credentials?limit=1', headers);
    expect(short.bytes.length).toBeLessThan(MIN_COMPRESSED_BYTES);
    for (const { headers: seen } of [short, await send('GET', '/nope', headers)]) {
      expect(seen['content-encoding']).toBeUndefined();
    }
  });

  it('does not compress a single resource of any length: its strong ETag identifies these bytes', async () => {
    const headers = { ...AUTHORIZATION, 'accept-encoding': 'gzip' };
    const body = JSON.stringify({ public_key: newPublicKey(), metadata: 'x'.repeat(4096) });
    const made = await send('POST', '/ssh_credentials', headers, body);
    const got = await send('GET', `/ssh_credentials/${JSON.parse(made.bytes.toString()).id}`, headers);
    for (const answer of [made, got]) {
      expect(answer.bytes.length).toBeGreaterThan(MIN_COMPRESSED_BYTES);
      expect([answer.headers.etag, answer.headers['content-encoding']]).toEqual(['"1"', undefined]);
    }
  });

  it('makes answers vary by origin and by encoding', async () => {
    const forPages = await startCopy(service, { corsOrigins: ['https://console.example.test'] });
    const { headers } = await call(forPages.app.url, 'GET', '/ssh_credentials');
    expect(headers.vary).toBe('Origin, Accept-Encoding');
    await forPages.stop();
  });
});

describe('the compression of a public route', () => {
  let bare: Awaited<ReturnType<typeof startBareServer>>;
  beforeAll(async () => {
    bare = await startBareServer();
  });
  afterAll(() => bare.nest.close());

  it('happens once, and never a second time', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const page = await call(bare.url, 'GET', '/page', headers);
    expect(gunzipSync(page.bytes).length).toBe(10_000);
    const packed = await call(bare.url, 'GET', '/packed', headers);
    expect([packed.headers['content-encoding'], packed.bytes.length]).toEqual(['gzip', 10_000]);
  });
});
