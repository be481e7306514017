import type { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { compilePolicy } from '../../rules/ip-rules/ip-policy.js';
import { Admissions } from './admissions.js';
import { EdgeConnection } from './edge-connection.js';
import type { ServedEdge } from './served-edge.js';

const PLACE = 'on_tcp_connect[0].actions[0]';
const OFFICE = new Map([['ipp_1', compilePolicy([{ id: '', cidr: '192.0.2.0/24', action: 'allow' }])]]);
const ELSEWHERE = { enabled: true, ip_policy_ids: ['ipp_2'] };

const denying = (expression: string): string =>
  JSON.stringify({ on_tcp_connect: [{ expressions: [expression], actions: [{ type: 'deny' }] }] });

const edgeOf = (policyText: string | undefined, more: Partial<ServedEdge> = {}): ServedEdge => ({
  ...{ id: 'edgtcp_1', accountId: 'ac_1', labels: { team: 'blue' }, restriction: null, policyText },
  ipPolicies: () => OFFICE,
  ...more,
});

function connectionTo(edge: ServedEdge, remoteAddress = '192.0.2.7') {
  const ends = { remoteAddress, remotePort: 5_000, localAddress: '192.0.2.1', localPort: 20_000 };
  const socket = { ...ends, destroyed: false, setNoDelay: () => 0, setKeepAlive: () => 0, on: () => 0, destroy };
  function destroy(): void {
    socket.destroyed = true;
  }
  return new EdgeConnection(socket as unknown as Socket, edge, Date.parse('2026-03-04T09:30:15Z'));
}

const admissions = new Admissions(() => Date.parse('2026-03-04T09:31:00Z'));
const admit = (edge: ServedEdge, from?: string) =>
  admissions.admit(connectionTo(edge, from), { hostport: 'a.test:1', served: edge });

const refused = (reason: string, place?: string) => ({ refusal: 'traffic_policy', reason, ...(place && { place }) });

describe('a client', () => {
  it.each<[what: string, denies: string | undefined, more: Partial<ServedEdge>, admission: object]>([
    ['is admitted without a policy', undefined, {}, {}],
    ['is refused by the IP rules first', 'true', { restriction: ELSEWHERE }, { refusal: 'not_allowed' }],
    ['is refused by the policy', "conn.client_ip == '192.0.2.7'", {}, refused('denied', PLACE)],
    ['is admitted by the policy', "conn.client_ip == '192.0.2.8'", {}, {}],
    ['is known with both ends', 'conn.client_port + conn.server_port == 25000', {}, refused('denied', PLACE)],
    ['is known with its edge', "endpoint.id == 'edgtcp_1'", {}, refused('denied', PLACE)],
    ['is known with its times', "timestamp(time.now) - conn.ts.start == duration('45s')", {}, refused('denied', PLACE)],
    [
      'is refused by an expression that fails',
      'int(conn.client_ip) > 1',
      {},
      refused('expression_failed', 'on_tcp_connect[0].expressions[0]'),
    ],
    ['is refused by a policy that only the service can read', '1 +', {}, refused('unreadable')],
  ])('%s', async (_, denies, more, admission) => {
    expect(await admit(edgeOf(denies === undefined ? undefined : denying(denies), more))).toEqual(admission);
  });

  it('is admitted or refused by IP policies that the traffic policy names', async () => {
    const actions = [
      { type: 'restrict-ips', config: { ip_policies: ['ipp_1'] } },
      { type: 'log', config: { metadata: { from: `\${conn.client_ip}` } } },
    ];
    const edge = edgeOf(JSON.stringify({ on_tcp_connect: [{ actions }] }));
    const logs = JSON.stringify([{ place: 'on_tcp_connect[0].actions[1]', metadata: { from: '192.0.2.7' } }]);
    expect(await admit(edge)).toEqual({ logs });
    expect(await admit(edge, '192.0.3.7')).toEqual(refused('ip_restricted', PLACE));
  });
});

const ADMITS = edgeOf(denying('false'));
const DENIES = edgeOf(denying('true'));

/** A hostport with open connections. */
function open({ count = 1, now = (): number => 0 } = {}) {
  const at: { hostport: string; served: ServedEdge | undefined } = { hostport: 'a.test:1', served: ADMITS };
  const again = new Admissions(now);
  const connections = Array.from({ length: count }, () => connectionTo(ADMITS));
  const apply = (served: ServedEdge | undefined): void => {
    at.served = served;
    for (const one of connections) if (!one.socket.destroyed) void again.admitAgain(one, at);
  };
  return { apply, connections, ended: () => connections.filter(({ endReason }) => endReason) };
}

async function until(isSo: () => boolean): Promise<void> {
  for (let n = 0; n < 1_000 && !isSo(); n += 1) await new Promise(setImmediate);
  expect(isSo()).toBe(true);
}

describe('an open connection', () => {
  it.each<[what: string, served: ServedEdge | undefined]>([
    ['the edge is gone', undefined],
    ['another edge is served', { ...ADMITS, id: 'edgtcp_2' }],
  ])('ends at once if %s', (_, served) => {
    const { apply, connections } = open();
    apply(served);
    expect(connections[0]?.endReason).toBe('not_allowed');
  });

  it('ends if the IP rules or the traffic policy refuse it now', async () => {
    for (const [served, reason] of [
      [{ ...ADMITS, restriction: ELSEWHERE }, 'not_allowed'],
      [DENIES, 'traffic_policy'],
    ] as const) {
      const { apply, connections } = open();
      apply(served);
      await until(() => connections[0]?.endReason === reason);
    }
  });

  it('that waits for its turn is decided by what is served then, however often that changes', async () => {
    let decided = 0;
    const now = (): number => {
      decided += 1;
      return 0;
    };
    const { apply, ended } = open({ count: 50, now });
    apply(DENIES);
    for (let n = 0; n < 20; n += 1) apply({ ...ADMITS });
    await until(() => decided === 50);
    expect(ended()).toEqual([]);
    // Each turn of the event loop has a change, as if an edge changed all the time.
    for (let n = 0; ended().length < 50 && n < 1_000; n += 1) {
      apply({ ...DENIES });
      await new Promise(setImmediate);
    }
    expect(ended()).toHaveLength(50);
    expect(decided).toBe(100);
  });
});
