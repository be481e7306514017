import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { readConfig } from '../../src/api/config/config.js';
import { RequestLog } from '../../src/api/http/logging/request-log.js';
import { fastifyOptions, serveHttp } from '../../src/api/http/server.js';
import { StopNotice } from '../../src/api/http/stop-notice.js';
import type { Timeouts } from '../../src/api/http/timeouts.js';
import { IdSource } from '../../src/kernel/ids.js';

@Module({})
class NoModule {}

export const OWN_POLICY = "default-src 'self'";

/** The real server with three public routes only. */
export async function startBareServer(timeouts?: Timeouts): Promise<{ nest: NestFastifyApplication; url: string }> {
  const config = readConfig({});
  const ids = new IdSource();
  const requestLog = new RequestLog(() => undefined, 'changes');
  const adapter = new FastifyAdapter(fastifyOptions(ids, config, requestLog, timeouts));
  const nest = await NestFactory.create<NestFastifyApplication>(NoModule, adapter, {
    logger: false,
    bodyParser: false,
  });
  const reject = () => Promise.reject(new Error('no route needs authentication'));
  const authentication = {
    authenticate: reject,
    authenticateGateway: reject,
    authenticateMetrics: reject,
    isStillAuthorized: reject,
  };
  const stopNotice = new StopNotice();
  serveHttp(nest, { ids, config, requestLog, authentication, failed: () => undefined, stopNotice });
  const server = adapter.getInstance();
  const options = { config: { isPublic: true } } as object;
  server.get('/page', options, (_, reply) => {
    void reply.header('content-security-policy', OWN_POLICY).type('text/html').send('x'.repeat(10_000));
  });
  server.get('/packed', options, (_, reply) => {
    void reply.header('content-encoding', 'gzip').type('text/plain').send('x'.repeat(10_000));
  });
  server.post('/taken', options, (_, reply) => {
    void reply.send({ taken: true });
  });
  await nest.listen(0, '127.0.0.1');
  return { nest, url: await nest.getUrl() };
}
