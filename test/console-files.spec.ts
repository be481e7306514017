import { expect, it } from '@jest/globals';
import { call } from './support/raw-http.js';
import { ADMIN_KEY, startService } from './support/service.js';

it('the console is written with the path of PUBLIC_URL, asked for again, and its files never change', async () => {
  const service = await startService({ publicUrl: 'https://tunnels.example.com/access' });
  const page = await fetch(`${service.app.url}/console`);
  const text = await page.text();
  expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-cache']);
  expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
  const files = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
  expect(files).toHaveLength(3);
  for (const file of files) {
    expect(file).toMatch(/^\/access\/console\//);
    const { status, headers } = await fetch(service.app.url + file.replace('/access', ''));
    expect([file, status, headers.get('cache-control')]).toEqual([file, 200, 'public, max-age=31536000, immutable']);
  }
  for (const name of ['index.html', 'nope.js', '..%2fopenapi.json', '__proto__'])
    expect((await service.admin.get(`/console/${name}`)).status).toBe(404);
  await service.stop();
});

it('CONSOLE=off takes the console away, and out of openapi.json', async () => {
  const service = await startService({ console: false });
  const headers = { authorization: `Bearer ${ADMIN_KEY}` };
  expect((await fetch(`${service.app.url}/console`, { headers })).status).toBe(404);
  const document = (await (await fetch(`${service.app.url}/openapi.json`)).json()) as { paths: object };
  expect(Object.keys(document.paths).filter((path) => path.startsWith('/console'))).toEqual([]);
  await service.stop();
});

it('the link of a start is only for a browser of the same machine: no proxy, other host or other origin', async () => {
  const service = await startService();
  const { host, origin, port } = new URL(service.app.url);
  const use = async (headers: Record<string, string>) => {
    const sent = { host, origin, authorization: 'Bearer x', 'content-length': '0', ...headers };
    const answer = await call(service.app.url, 'POST', '/console/once', sent);
    return answer.status;
  };
  expect(await use({})).toBe(401);
  for (const headers of [
    { origin: 'http://evil.example' },
    { origin: `http://localhost:${port}` },
    { origin: 'null' },
    { host: `evil.example:${port}`, origin: `http://evil.example:${port}` },
    { host: `127.0.0.1.evil.example:${port}`, origin: `http://127.0.0.1.evil.example:${port}` },
    { forwarded: 'for=127.0.0.1' },
    { 'x-forwarded-for': '127.0.0.1' },
    { 'x-forwarded-proto': 'http' },
  ])
    expect([headers, await use(headers)]).toEqual([headers, 403]);
  await service.stop();
});
