import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { holdWrites, upload } from './support/decisions.js';
import { EventStream } from './support/event-stream.js';
import { freePort } from './support/free-port.js';
import { useInstances } from './support/instances.js';
import { newPublicKey } from './support/keys.js';
import { METRICS_TOKEN, namesIn, scrape, seriesValue } from './support/metrics.js';
import { ADMIN_KEY, GATEWAY, type Service, startCopy, startService } from './support/service.js';

/** Asks without ApiClient: the metrics are no part of the API, so openapi.json does not describe them. */
async function ask(url: string, token?: string, path = '/metrics', method = 'GET') {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}${path}`, { method, headers });
  const { details: _, ...body } = (await response.json()) as Record<string, unknown>;
  return { status: response.status, allow: response.headers.get('allow'), body };
}

const withService = useInstances();

describe('the metrics are closed by default', () => {
  it('GET /metrics answers like an unknown route, to every key and token', async () => {
    await withService(GATEWAY, async ({ app, admin, gateway }) => {
      for (const token of [undefined, admin.token, gateway.token, METRICS_TOKEN]) {
        const unknown = await ask(app.url, token, '/nowhere');
        expect(unknown.status).toBe(404);
        expect(await ask(app.url, token)).toEqual(unknown);
      }
      expect(app.routes.filter(({ path }) => path === '/metrics')).toEqual([]);
    });
  });
});

describe('METRICS_TOKEN', () => {
  it('opens GET /metrics to this token only: every other is 401 in the shape of every error', async () => {
    await withService({ ...GATEWAY, metricsToken: METRICS_TOKEN }, async ({ app, admin, gateway }) => {
      const answer = await fetch(`${app.url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      for (const [token, code] of [
        [undefined, 'ERR_NGROK_200'],
        [admin.token, 'ERR_NGROK_203'],
        [gateway.token, 'ERR_NGROK_203'],
        [`${METRICS_TOKEN}x`, 'ERR_NGROK_203'],
        [METRICS_TOKEN.slice(0, -1), 'ERR_NGROK_203'],
        ['x'.repeat(300), 'ERR_NGROK_202'],
      ]) {
        const { status, body } = await ask(app.url, token);
        expect([token, status, body.error_code]).toEqual([token, 401, code]);
        expect(body.msg).toContain('metrics token');
      }
    });
  });

  it('opens no other route', async () => {
    await withService({ ...GATEWAY, metricsToken: METRICS_TOKEN }, async ({ app }) => {
      for (const path of ['/ssh_credentials', '/events', '/ssh_gateway/metrics']) {
        expect([path, (await ask(app.url, METRICS_TOKEN, path)).status]).toEqual([path, 401]);
      }
    });
  });

  it('counts its failures together with those of API keys; the right token still works', async () => {
    await withService({ metricsToken: METRICS_TOKEN, authFailuresPerMinute: 2 }, async ({ app, admin }) => {
      expect((await ask(app.url, 'a-wrong-token-of-the-metrics')).status).toBe(401);
      expect((await admin.as('not-a-key-of-anyone').get('/ssh_credentials')).status).toBe(401);
      expect((await ask(app.url, 'a-wrong-token-of-the-metrics')).status).toBe(429);
      expect(await scrape(app.url)).toContain('tunnel_access_ready');
    });
  });
});

describe('METRICS_LISTEN', () => {
  it('serves /metrics and nothing else, without a token, until the service stops', async () => {
    const port = await freePort('127.0.0.1');
    const url = `http://127.0.0.1:${port}`;
    const service = await startService({ metricsAddress: { host: '127.0.0.1', port } });
    expect((await ask(service.app.url)).status).toBe(404);
    expect(await scrape(url, undefined)).toContain('tunnel_access_ready');
    for (const [method, path] of [
      ['GET', '/ssh_credentials'],
      ['GET', '/livez'],
      ['POST', '/metrics'],
    ] as const) {
      expect(await ask(url, ADMIN_KEY, path, method)).toMatchObject({
        status: 404,
        body: { error_code: 'ERR_TAS_404' },
      });
    }
    await service.stop();
    await expect(fetch(`${url}/metrics`)).rejects.toThrow('fetch failed');
  });

  it('that cannot be used ends the start with one sentence', async () => {
    const port = await freePort('127.0.0.1');
    const metricsAddress = { host: '127.0.0.1', port };
    const first = await startService({ metricsAddress });
    await expect(startCopy(first, { metricsAddress })).rejects.toThrow(
      /^METRICS_LISTEN cannot be used: listen EADDRINUSE.*; choose an address of this machine and a port that is free$/,
    );
    await first.stop();
    await expect(startService({ metricsAddress: { host: '192.0.2.1', port } })).rejects.toThrow(/EADDRNOTAVAIL/);
  });
});

describe('a scrape', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ metricsToken: METRICS_TOKEN, appendQueueLimit: 50 });
  });
  afterAll(() => service.stop());
  const metrics = (): Promise<string> => scrape(service.app.url);
  const value = async (series: string): Promise<number> => seriesValue(await metrics(), series);

  it('has the decisions of gateways without GATEWAY_TOKENS too', async () => {
    expect(await value('tunnel_access_bind_decisions_total{reason="permitted"}')).toBe(0);
    expect(await value('tunnel_access_bind_decisions_queued')).toBe(0);
  });

  it('counts and times requests by the pattern of their route, and never by a path', async () => {
    const { body } = await service.admin.post('/ssh_credentials', { public_key: newPublicKey() });
    await service.admin.get(`/ssh_credentials/${body.id}`);
    await service.admin.get(`/ssh_credentials/${body.id}?as_of=1`);
    await service.admin.as('not-a-key-of-anyone').get(`/ssh_credentials/${body.id}`);
    await fetch(`${service.app.url}/a/path/of/a/stranger`);
    await fetch(`${service.app.url}/another?query=secret`, { method: 'PROPFIND' });
    const text = await metrics();
    const requests = (method: string, route: string, status: number): number =>
      seriesValue(text, `tunnel_access_http_requests_total{method="${method}",route="${route}",status="${status}"}`);
    expect(requests('POST', '/ssh_credentials', 201)).toBe(1);
    expect(requests('GET', '/ssh_credentials/:id', 200)).toBe(1);
    expect(requests('GET', '/ssh_credentials/:id', 404)).toBe(1);
    expect(requests('GET', '/ssh_credentials/:id', 401)).toBe(1);
    expect(requests('any', 'none', 404)).toBe(2);
    const count = 'tunnel_access_http_request_seconds_count{method="GET",route="/ssh_credentials/:id"}';
    expect(seriesValue(text, count)).toBe(3);
    for (const secret of [body.id, service.admin.token ?? '', 'stranger', 'PROPFIND', 'secret', 'ac_', METRICS_TOKEN]) {
      expect([secret, text.includes(secret)]).toEqual([secret, false]);
    }
  });

  it('has a bounded number of series: strangers cannot make further ones', async () => {
    const seriesIn = (text: string): number => text.split('\n').filter((line) => line.startsWith('tunnel_')).length;
    await fetch(`${service.app.url}/first/path`);
    const before = seriesIn(await metrics());
    for (let n = 0; n < 20; n += 1) await fetch(`${service.app.url}/path/${n}`, { method: n % 2 ? 'GET' : 'MKCOL' });
    expect(seriesIn(await metrics())).toBe(before);
  });

  it('shows batches, and the changes that wait in the queue while the database holds one', async () => {
    const before = await value('tunnel_access_append_batch_size_count');
    const holder = await service.pool.connect();
    await holder.query('begin; select 1 from log_heads for update');
    const posts = Array.from({ length: 8 }, () =>
      service.admin.post('/ssh_credentials', { public_key: newPublicKey() }),
    );
    // The first batch waits for the head; what came later than it waits in the queue.
    const later = (async () => {
      while ((await value('tunnel_access_append_queue')) === 0) {
        posts.push(service.admin.post('/ssh_credentials', { public_key: newPublicKey() }));
      }
    })();
    await later;
    await holder.query('rollback');
    holder.release();
    for (const { status } of await Promise.all(posts)) expect(status).toBe(201);
    const text = await metrics();
    expect(seriesValue(text, 'tunnel_access_append_queue')).toBe(0);
    expect(seriesValue(text, 'tunnel_access_append_queue_limit')).toBe(50);
    expect(seriesValue(text, 'tunnel_access_append_batch_size_count')).toBeGreaterThan(before);
    expect(seriesValue(text, 'tunnel_access_append_batch_seconds_count')).toBe(
      seriesValue(text, 'tunnel_access_append_batch_size_count'),
    );
  });

  it('shows the connections of both pools, who waits for them, and for how long', async () => {
    const { pool } = service;
    const holders = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
    const waiting = pool.connect().then(
      (late) => late.release(),
      () => undefined,
    );
    const waits = 'tunnel_access_pool_wait_seconds_count{pool="shared"}';
    const text = await metrics();
    expect(seriesValue(text, 'tunnel_access_pool_connections{pool="shared",state="busy"}')).toBe(pool.options.max);
    expect(seriesValue(text, 'tunnel_access_pool_connections_max{pool="shared"}')).toBe(pool.options.max);
    expect(seriesValue(text, 'tunnel_access_pool_connections_max{pool="audit_reads"}')).toBe(4);
    expect(seriesValue(text, 'tunnel_access_pool_waiting{pool="shared"}')).toBeGreaterThan(0);
    // The scrape itself waited too: it asks the database whether the instance is ready, and says that it is not.
    expect(seriesValue(text, 'tunnel_access_ready{check="database"}')).toBe(0);
    for (const holder of holders) holder.release();
    await waiting;
    const after = await metrics();
    expect(seriesValue(after, waits)).toBeGreaterThan(seriesValue(text, waits));
    expect(seriesValue(after, 'tunnel_access_pool_wait_seconds_sum{pool="shared"}')).toBeGreaterThan(0.5);
    expect(seriesValue(after, 'tunnel_access_ready{check="database"}')).toBe(1);
    const auditReads = seriesValue(after, 'tunnel_access_pool_wait_seconds_count{pool="audit_reads"}');
    await service.admin.get('/events');
    expect(await value('tunnel_access_pool_wait_seconds_count{pool="audit_reads"}')).toBe(auditReads + 1);
  });

  it('shows live feeds while they are open', async () => {
    expect(await value('tunnel_access_followers')).toBe(0);
    const stream = await EventStream.open(`${service.app.url}/events`, ADMIN_KEY);
    expect(await value('tunnel_access_followers')).toBe(1);
    stream.close();
    while ((await value('tunnel_access_followers')) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  });

  it('has the size of the log, and the delay of the event loop', async () => {
    const own = await startCopy(service, { metricsToken: METRICS_TOKEN });
    const text = await scrape(own.app.url);
    const { rows } = await service.pool.query('select count(*)::int as events from events');
    expect(seriesValue(text, 'tunnel_access_log_events')).toBe(rows[0].events);
    expect(seriesValue(text, 'tunnel_access_log_bytes')).toBeGreaterThan(8192);
    expect(seriesValue(text, 'nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
    await own.stop();
  });

  it('asks the database for the size of the log once a minute at most', async () => {
    const own = await startCopy(service, { metricsToken: METRICS_TOKEN });
    const before = seriesValue(await scrape(own.app.url), 'tunnel_access_log_events');
    await service.admin.post('/ssh_credentials', { public_key: newPublicKey() });
    for (let n = 0; n < 3; n += 1) {
      expect(seriesValue(await scrape(own.app.url), 'tunnel_access_log_events')).toBe(before);
    }
    await own.stop();
  });
});

it('two instances in one process have metrics of their own', async () => {
  await withService({ metricsToken: METRICS_TOKEN }, async (service) => {
    const other = await startCopy(service, { metricsToken: METRICS_TOKEN });
    await service.admin.get('/users');
    const series = 'tunnel_access_http_requests_total{method="GET",route="/users",status="200"}';
    expect(seriesValue(await scrape(service.app.url), series)).toBe(1);
    expect(await scrape(other.app.url)).not.toContain(series);
    await other.stop();
  });
});

it('with gateways, /metrics and /ssh_gateway/metrics count the same decisions and the same queue', async () => {
  await withService({ ...GATEWAY, metricsToken: METRICS_TOKEN }, async (service) => {
    const { fingerprint } = await upload(service, service.admin, { public_key: newPublicKey() });
    const writes = await holdWrites(service.pool);
    await service.gateway.post('/ssh_gateway/authorize', { fingerprint, target: { domain: 'a.example.com' } });
    const own = (await service.gateway.get('/ssh_gateway/metrics')).body as string;
    const all = await scrape(service.app.url);
    for (const text of [own, all]) {
      expect(seriesValue(text, 'tunnel_access_bind_decisions_total{reason="permitted"}')).toBe(1);
      expect(seriesValue(text, 'tunnel_access_bind_decisions_queued')).toBe(1);
    }
    expect(namesIn(all)).toEqual(expect.arrayContaining(namesIn(own)));
    // What gateways' operators scrape.
    expect(namesIn(own).sort()).toEqual([
      'tunnel_access_bind_decision_seconds',
      'tunnel_access_bind_decisions_queue_full_total',
      'tunnel_access_bind_decisions_queued',
      'tunnel_access_bind_decisions_total',
      'tunnel_access_bind_decisions_write_failures_total',
      'tunnel_access_doubled_keys',
    ]);
    await writes.release();
  });
});
