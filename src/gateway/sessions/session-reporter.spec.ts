import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Counter } from 'prom-client';
import { until } from '../../../test/support/eventually.js';
import { type Body, ModelService, REFUSED_ACCOUNT } from '../../../test/support/model-service.js';
import { routesOf, ServiceClient } from '../service-client.js';
import { OpenSessions } from './open-sessions.js';
import { SessionReporter } from './session-reporter.js';

const FACTS = { account_id: 'ac_1', credential_id: 'sshcr_1', fingerprint: 'SHA256:x' };

const GATEWAY = { id: 'gw_1', hosts: [{ host: 'localhost', listenAddress: '127.0.0.1' }] };

/** Shorter than the real ones. */
const PAUSES = {
  ...{ at_once: 0, soon: 20, counters: 100, heartbeat: 400 },
  ...{ failed: [20, 40], refused: 1_000, stopping: 1_000 },
};

let model: ModelService;
let server: Server;
let bodies: Body[];
/** Answers in place of the model. */
let answerBy: ((response: ServerResponse) => void) | undefined;
let sessions: OpenSessions;
let reporter: SessionReporter;
let service: ServiceClient;
let lines: string[];
let failures: Counter;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body: Body = JSON.parse(await text(request));
  bodies.push(body);
  if (answerBy !== undefined) return answerBy(response);
  const answered = model.take(body);
  response.statusCode = answered === undefined ? 400 : 200;
  const item = model.refusedItem(body);
  response.end(JSON.stringify(answered ?? { msg: `${item} is refused.`, details: { item } }));
}

beforeEach(async () => {
  [bodies, answerBy, lines] = [[], undefined, []];
  model = new ModelService(() => performance.now());
  server = createServer((request, response) => void answer(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  service = new ServiceClient(routesOf({ serviceUrl: `http://127.0.0.1:${port}`, gatewayToken: 'token' }));
  sessions = new OpenSessions();
  const log = {
    line: (_: string, fields: object, message: string) => void lines.push(message + JSON.stringify(fields)),
  };
  failures = new Counter({ name: 'failures', help: 'Failures.', registers: [] });
  reporter = new SessionReporter({ service, log, metrics: { reportFailures: failures } }, sessions, GATEWAY, PAUSES);
});
afterEach(async () => {
  answerBy = undefined;
  await reporter.stop();
  service.close();
  server.closeAllConnections();
  server.close();
});
const status = (code: number) => (response: ServerResponse) => {
  response.statusCode = code;
  response.end('{}');
};

describe('the reporter of a gateway', () => {
  it('reports nothing before the stream of changes is followed, and then at once and again and again', async () => {
    const session = sessions.open(FACTS);
    await sleep(60);
    expect(bodies).toEqual([]);
    reporter.followed();
    await until(() => model.open.has(session.id));
    const before = bodies.length;
    await until(() => bodies.length > before);
    expect(bodies.at(-1)).toEqual({ gateway_id: 'gw_1', report: before + 1 });
  });

  it('tells the hosts of the gateway with each whole state', async () => {
    reporter.followed();
    await until(() => bodies.length > 0);
    expect(bodies[0]).toMatchObject({
      whole_since: 1,
      gateway: { hosts: [{ host: 'localhost', listen_address: '127.0.0.1' }] },
    });
  });

  it('tells what happens soon, in few reports', async () => {
    reporter.followed();
    await until(() => bodies.length > 0);
    const opened: string[] = [];
    for (let n = 0; n < 20; n += 1) {
      opened.push(sessions.open(FACTS).id);
      await sleep(1);
    }
    await until(() => opened.every((id) => model.open.has(id)));
    expect(bodies.length).toBeLessThan(8);
  });

  it.each([
    ['breaks off', (response: ServerResponse) => void response.destroy()],
    ['says 503', status(503)],
    ['is not from the service', (response: ServerResponse) => void response.end('null')],
  ])('sends a report again until it is counted, when the answer %s', async (_, fails) => {
    answerBy = fails;
    const session = sessions.open(FACTS);
    reporter.followed();
    await until(() => bodies.length > 2);
    expect(new Set(bodies.map(({ report }) => report))).toEqual(new Set([1]));
    answerBy = undefined;
    await until(() => model.open.has(session.id));
    await until(() => lines.length > 1);
    expect(lines).toEqual([expect.stringMatching(/^sessions are not reported: /), 'sessions are reported again{}']);
    expect((await failures.get()).values[0]?.value).toBeGreaterThan(2);
    expect(model.faults).toEqual([]);
  });

  it('goes on without reports to a service that has no such route, and logs it once', async () => {
    answerBy = status(404);
    reporter.followed();
    await until(() => lines.length > 0);
    await sleep(200);
    expect(bodies).toHaveLength(1);
    expect(lines).toEqual([
      expect.stringContaining('it is an earlier version, and the gateway goes on without reports'),
    ]);
  });

  it('leaves out nothing when the service refuses every report of its token', async () => {
    answerBy = status(403);
    sessions.open(FACTS);
    reporter.followed();
    await until(() => lines.length > 0);
    await sleep(100);
    expect(bodies.map(({ report, sessions: some }) => [report, some?.length])).toEqual([[1, 1]]);
    expect(lines).toEqual([expect.stringMatching(/^sessions are not reported: .* 403/)]);
  });

  it('leaves out the item that the service refuses, and logs it with the reason', async () => {
    const [session, refused] = [sessions.open(FACTS), sessions.open({ ...FACTS, account_id: REFUSED_ACCOUNT })];
    reporter.followed();
    await until(() => model.open.has(session.id));
    expect(lines).toEqual([
      'left out of the reports what the service refuses: the service answered sessions with HTTP 400: ' +
        `sessions[1] is refused.{"kind":"sessions","id":"${refused.id}","account":"${REFUSED_ACCOUNT}"}`,
    ]);
    expect(bodies.map(({ report, sessions: some }) => [report, some?.length])).toEqual([
      [1, 2],
      [1, 1],
    ]);
  });

  it('ends what somebody stopped once, by the stream and by the answer to a whole state', async () => {
    const told: string[] = [];
    const [one, other] = [sessions.open(FACTS), sessions.open(FACTS)];
    for (const session of [one, other]) session.onStop = ({ by }) => void told.push(`${session.id} ${by}`);
    reporter.followed();
    await until(() => model.open.size === 2);
    // Another account may have a session with the same id, at a gateway of its own.
    reporter.stopped([model.stopOf(other.id, 'ac_2'), model.stopOf(one.id), model.stopOf('ts_of_another_gateway')]);
    expect(told).toEqual([`${one.id} Alice`]);
    model.stopped.add(one.id).add(other.id);
    reporter.followed();
    await until(() => told.length > 1);
    expect(told).toEqual([`${one.id} Alice`, `${other.id} Alice`]);
  });

  it('reports the ends of all sessions when the gateway stops', async () => {
    const open = Array.from({ length: 900 }, () => sessions.open(FACTS));
    reporter.followed();
    await until(() => model.open.size === 900);
    await reporter.stop();
    expect(open.map(({ id }) => model.records.get(id)?.reason)).toEqual(Array(900).fill('gateway_stopped'));
    expect(model.faults).toEqual([]);
  });

  it('keeps a gateway that stops waiting for a short time only', async () => {
    reporter.followed();
    await until(() => bodies.length > 0);
    sessions.open(FACTS);
    answerBy = () => undefined;
    const started = performance.now();
    await reporter.stop();
    expect(performance.now() - started).toBeLessThan(1_500);
  });
});
