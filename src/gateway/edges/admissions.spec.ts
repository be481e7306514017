import type { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { compilePolicy } from '../../rules/ip-rules/ip-policy.js';
import { readTrafficPolicy } from '../../rules/traffic-policy/traffic-policy.js';
import { Admissions } from './admissions.js';
import type { EdgeCheck } from './edge-answer.js';
import { EdgeConnection } from './edge-connection.js';
import type { AskedClient } from './edges-of-service.js';
import type { ServedEdge, ServedPolicy } from './served-edge.js';
import { Visit } from './visit.js';

const HOSTPORT = 'a.test:1';
const PLACE = 'on_tcp_connect[0].actions[0]';

async function policyOf(expression: string, more: Partial<ServedPolicy> = {}): Promise<ServedPolicy> {
  const rules = [{ expressions: [expression], actions: [{ type: 'deny' }] }];
  const policy = await readTrafficPolicy(JSON.stringify({ on_tcp_connect: rules }));
  return { policy, ipPolicies: new Map(), isAsked: false, ...more };
}

const edgeOf = (policy: ServedPolicy | undefined, letsIn: boolean | 'ask' = true): ServedEdge => ({
  id: 'edgtcp_1',
  accountId: 'ac_1',
  isOpen: true,
  labels: { team: 'blue' },
  letsIn: () => letsIn,
  policy,
});

interface Ends {
  readonly remoteAddress?: string;
  readonly localAddress?: string;
}

function connectionTo(edge: ServedEdge, { remoteAddress = '192.0.2.7', localAddress = '192.0.2.1' }: Ends = {}) {
  const ends = { remoteAddress, remotePort: 5_000, localAddress, localPort: 20_000 };
  const socket = { ...ends, destroyed: false, setNoDelay: () => 0, setKeepAlive: () => 0, on: () => 0 };
  return new EdgeConnection(socket as unknown as Socket, edge, Date.parse('2026-03-04T09:30:15Z'));
}

/** Decides over a connection, with what the service was asked meanwhile. */
async function decide(edge: ServedEdge, check?: EdgeCheck, ends?: Ends) {
  const asked: string[] = [];
  const service = {
    check: async (hostport: string, id: string, client: AskedClient) => {
      asked.push([hostport, id, ...Object.values(client)].join(' '));
      return check;
    },
  };
  const admissions = new Admissions(service, () => Date.parse('2026-03-04T09:31:00Z'));
  const visit = new Visit(connectionTo(edge, ends), HOSTPORT, () => edge);
  return { admission: await admissions.decide(visit), asked };
}

const refused = (reason: string, place?: string) => ({ refusal: 'traffic_policy', reason, ...(place && { place }) });
const ipCheck = (allowed: boolean, reason: string): EdgeCheck => ({ allowed, reason, traffic_policy: null });
const policyCheck = (allowed: boolean, reason: string, place: string | null = null): EdgeCheck => ({
  ...{ allowed, reason: allowed ? 'no_restriction' : 'traffic_policy' },
  traffic_policy: { allowed, reason, place, logs: [{ place: PLACE, metadata: { a: 1 } }] },
});

describe('without a question to the service', () => {
  it.each<[what: string, denies: string | undefined, letsIn: boolean, admission: object]>([
    ['no policy lets in', undefined, true, {}],
    ['the IP rules come first', 'true', false, { refusal: 'not_allowed' }],
    ['the policy denies', "conn.client_ip == '192.0.2.7'", true, refused('denied', PLACE)],
    ['the policy lets in', "conn.client_ip == '192.0.2.8'", true, {}],
    ['both ends are known', 'conn.client_port + conn.server_port == 25000', true, refused('denied', PLACE)],
    ['the edge is known', "endpoint.id == 'edgtcp_1'", true, refused('denied', PLACE)],
    ['the times are known', "timestamp(time.now) - conn.ts.start == duration('45s')", true, refused('denied', PLACE)],
    [
      'a failing expression closes',
      'int(conn.client_ip) > 1',
      true,
      refused('expression_failed', 'on_tcp_connect[0].expressions[0]'),
    ],
  ])('%s', async (_, denies, letsIn, admission) => {
    const policy = denies === undefined ? undefined : await policyOf(denies);
    expect(await decide(edgeOf(policy, letsIn))).toEqual({ admission, asked: [] });
  });

  it('IP policies that the traffic policy names decide', async () => {
    const ipPolicies = new Map([['ipp_1', compilePolicy([{ id: '', cidr: '192.0.2.0/24', action: 'allow' }])]]);
    const actions = [
      { type: 'restrict-ips', config: { ip_policies: ['ipp_1'] } },
      { type: 'log', config: { metadata: { from: `\${conn.client_ip}` } } },
    ];
    const text = JSON.stringify({ on_tcp_connect: [{ actions }] });
    const policy = { policy: await readTrafficPolicy(text), ipPolicies, isAsked: false };
    const logs = JSON.stringify([{ place: 'on_tcp_connect[0].actions[1]', metadata: { from: '192.0.2.7' } }]);
    expect((await decide(edgeOf(policy))).admission).toEqual({ logs });
    const { admission } = await decide(edgeOf(policy), undefined, { remoteAddress: '192.0.3.7' });
    expect(admission).toEqual(refused('ip_restricted', PLACE));
  });
});

describe('the service is asked', () => {
  const denying = () => policyOf('conn.client_port == 5000');

  it('about the IP rules alone if the gateway knows the policy, whatever the service says about that', async () => {
    const asked = [`${HOSTPORT} edgtcp_1 192.0.2.7`];
    const ask = (policy: ServedPolicy | undefined, check: EdgeCheck) => decide(edgeOf(policy, 'ask'), check);
    expect(await ask(undefined, ipCheck(true, 'allowed'))).toEqual({ admission: {}, asked });
    expect(await ask(undefined, ipCheck(false, 'denied'))).toEqual({ admission: { refusal: 'not_allowed' }, asked });
    expect(await ask(await denying(), ipCheck(false, 'denied'))).toEqual({
      admission: { refusal: 'not_allowed' },
      asked,
    });
    const admission = refused('denied', PLACE);
    expect(await ask(await denying(), policyCheck(true, 'no_action_ends'))).toEqual({ admission, asked });
    expect(await ask(undefined, policyCheck(false, 'denied'))).toEqual({ admission: {}, asked });
  });

  it('about a policy whose IP rules it did not send, with all that is known of the connection', async () => {
    const edge = edgeOf({ ...(await denying()), isAsked: true });
    const logs = JSON.stringify([{ place: PLACE, metadata: { a: 1 } }]);
    const ends = { remoteAddress: '2001:db8::1', localAddress: '2001:db8::2' };
    expect(await decide(edge, policyCheck(true, 'no_action_ends'))).toEqual({
      admission: { logs },
      asked: [`${HOSTPORT} edgtcp_1 192.0.2.7:5000 192.0.2.1:20000 2026-03-04T09:30:15.000Z`],
    });
    expect(await decide(edge, policyCheck(false, 'denied', PLACE), ends)).toEqual({
      admission: { ...refused('denied', PLACE), logs },
      asked: [`${HOSTPORT} edgtcp_1 [2001:db8::1]:5000 [2001:db8::2]:20000 2026-03-04T09:30:15.000Z`],
    });
  });

  it('and lets nobody in by an answer without the policy, or without the edge', async () => {
    const edge = edgeOf({ ...(await denying()), isAsked: true });
    expect((await decide(edge, { allowed: true, reason: 'allowed' })).admission).toEqual(refused('unreadable'));
    expect((await decide(edge, ipCheck(true, 'allowed'))).admission).toEqual(refused('unreadable'));
    expect((await decide(edge)).admission).toEqual({ refusal: 'not_allowed' });
  });
});
