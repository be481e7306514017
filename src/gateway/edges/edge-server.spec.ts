import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Unavailable } from '../../kernel/network/unavailable.js';
import type { GatewayContext } from '../context/gateway-context.js';
import type { ServiceEvent } from '../event-stream.js';
import { ServiceState } from '../rights/service-state.js';
import { EdgeServer } from './edge-server.js';

const SILENT = { line: () => undefined };
const COUNT = { inc: () => undefined, dec: () => undefined };

/** Another program at the port of the only edge. */
let other: Server;
let hostport: string;
let edges: EdgeServer;
/** How often the gateway began to follow, and which questions it asked. */
let followed = 0;
let asked: string[] = [];
let isAway = false;
let tell: (event: ServiceEvent) => void;

const listed = () => ({
  ...{ account_id: 'ac_1', ip_policies: [], ip_policies_error: null, traffic_policy_error: null },
  edge: {
    id: 'edgtcp_1',
    backend: { enabled: true, backend: { id: 'bkdtg_1' } },
    ip_restriction: null,
    traffic_policy: null,
  },
  tunnel_group: { id: 'bkdtg_1', labels: { team: 'blue' } },
});

const service = {
  async ask(_: string, path: string) {
    asked.push(path);
    if (isAway) throw new Unavailable('away');
    if (path.startsWith('edges/ports')) return { ports: [Number(hostport.split(':')[1])] };
    const answer = { hostport, edge_id: 'edgtcp_1' };
    return { edges: [listed()], hostports: [answer] };
  },
  async changes(_: string, signal: AbortSignal, heard: typeof tell) {
    followed += 1;
    tell = heard;
    tell({ name: 'ready', data: {} });
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  },
};

beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'performance'] });
  [followed, asked, isAway] = [0, [], false];
  other = createServer();
  await once(other.listen(0, '127.0.0.1'), 'listening');
  hostport = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  const settings = {
    gatewayHosts: [{ host: '127.0.0.1', listenAddress: '127.0.0.1' }],
    ...{ maxEdgeConnections: 10, edgeTrafficPolicies: 'refuse', outageGraceMs: 60_000 },
  };
  const context = {
    ...{ settings, service, log: SILENT, ports: { refusal: () => undefined }, now: Date.now },
    serviceState: new ServiceState(SILENT, 60_000, ['edges/changes']),
    metrics: { servedPorts: COUNT },
  };
  edges = new EdgeServer(context as unknown as GatewayContext);
});
afterEach(async () => {
  jest.useRealTimers();
  await edges.stop();
  other.close();
});

async function until(isSo: () => boolean): Promise<void> {
  const end = performance.now() + 5_000;
  while (!isSo() && performance.now() < end) await new Promise(setImmediate);
  expect(isSo()).toBe(true);
}

it('a question about a port that was in use is asked again until the service answers', async () => {
  await edges.start();
  await until(() => jest.getTimerCount() > 0);
  isAway = true;
  asked = [];
  jest.advanceTimersByTime(5_000);
  await until(() => followed > 1);
  isAway = false;
  const before = asked.length;
  await until(() => asked.length > before + 1);
});

it('a port that is in use is tried again by one timer, however often its edge changes', async () => {
  await edges.start();
  await until(() => jest.getTimerCount() > 0);
  for (let n = 0; n < 5; n += 1) {
    const before = asked.length;
    tell({ name: 'changed', data: { account_id: 'ac_1', ids: ['edgtcp_1'], hostports: [hostport] } });
    await until(() => asked.length > before);
    const end = performance.now() + 20;
    await until(() => performance.now() > end);
  }
  expect(jest.getTimerCount()).toBe(1);
});
