import type { Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { Unavailable } from '../../kernel/network/unavailable.js';
import { readTrafficPolicy } from '../../rules/traffic-policy/traffic-policy.js';
import { Admissions } from './admissions.js';
import type { EdgeCheck } from './edge-answer.js';
import { EdgeConnection } from './edge-connection.js';
import { Reviews } from './reviews.js';
import type { ServedEdge } from './served-edge.js';

type Changes = Partial<ServedEdge> & { readonly isAsked?: boolean };

async function edgeWith(expression: string, { isAsked = false, ...more }: Changes = {}): Promise<ServedEdge> {
  const rules = [{ expressions: [expression], actions: [{ type: 'deny' }] }];
  const policy = await readTrafficPolicy(JSON.stringify({ on_tcp_connect: rules }));
  return {
    ...{ id: 'edgtcp_1', accountId: 'ac_1', isOpen: true, labels: {}, letsIn: () => true },
    policy: { policy, ipPolicies: new Map(), isAsked },
    ...more,
  };
}
const LETS_IN = await edgeWith('false');
const DENIES = await edgeWith('true');
const ASKED = await edgeWith('true', { isAsked: true });
const checkOf = (allowed: boolean): EdgeCheck => ({
  ...{ allowed, reason: allowed ? 'no_restriction' : 'traffic_policy' },
  traffic_policy: { allowed, reason: allowed ? 'no_action_ends' : 'denied', place: null, logs: [] },
});

/** A hostport with open connections, and the questions that the service was asked, which are answered by hand. */
function trial({ count = 1, graceMs = 60_000, now = (): number => 0 } = {}) {
  const answers: { answer: (check: EdgeCheck) => void; fail: () => void }[] = [];
  const check = () =>
    new Promise<EdgeCheck>((resolve, reject) => {
      answers.push({ answer: resolve, fail: () => reject(new Unavailable('away')) });
    });
  const admissions = new Admissions({ check }, now);
  const at: { hostport: string; served: ServedEdge | undefined } = { hostport: 'a.test:1', served: LETS_IN };
  const failures: unknown[] = [];
  const failed = (error: unknown): void => void failures.push(error);
  const reviews = new Reviews(at, admissions, { graceMs, pauseMs: 1, failed });
  const connections = Array.from({ length: count }, (_, n) => connectionFrom(1_000 + n));
  const apply = (served: ServedEdge | undefined): void => {
    at.served = served;
    for (const one of connections) if (!one.socket.destroyed) reviews.review(one);
  };
  return { apply, answers, connections, failures, ended: () => connections.filter(({ endReason }) => endReason) };
}

function connectionFrom(remotePort: number): EdgeConnection {
  const ends = { remoteAddress: '192.0.2.7', remotePort, localAddress: '192.0.2.1', localPort: 20_000 };
  const socket = { ...ends, destroyed: false, setNoDelay: () => 0, setKeepAlive: () => 0, on: () => 0, destroy };
  function destroy(): void {
    socket.destroyed = true;
  }
  return new EdgeConnection(socket as unknown as Socket, LETS_IN, 0);
}

async function until(isSo: () => boolean): Promise<void> {
  for (let n = 0; n < 1_000 && !isSo(); n += 1) await new Promise(setImmediate);
  expect(isSo()).toBe(true);
}

it.each<[what: string, served: ServedEdge | undefined]>([
  ['the edge is gone', undefined],
  ['another edge is served', { ...LETS_IN, id: 'edgtcp_2' }],
  ['the IP rules do not let it in', { ...LETS_IN, letsIn: () => false }],
])('a connection ends at once if %s, also while the service is asked about it', (_, served) => {
  const { apply, connections } = trial();
  apply(ASKED);
  apply(served);
  expect(connections[0]?.endReason).toBe('not_allowed');
});

it('a connection that waits for its turn is decided by what is served then, however often that changes', async () => {
  let decided = 0;
  const now = (): number => {
    decided += 1;
    return 0;
  };
  const { apply, ended } = trial({ count: 50, now });
  apply(DENIES);
  for (let n = 0; n < 20; n += 1) apply({ ...LETS_IN });
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

it('what the gateway can decide does not wait for a question', async () => {
  const { apply, answers, connections } = trial();
  apply(ASKED);
  await until(() => answers.length === 1);
  apply(DENIES);
  await until(() => connections[0]?.endReason === 'traffic_policy');
});

it('a change while the service is asked is asked about again, once', async () => {
  const { apply, answers, connections } = trial();
  for (let n = 0; n < 3; n += 1) apply({ ...ASKED });
  await until(() => answers.length === 1);
  apply({ ...ASKED });
  answers[0]?.answer(checkOf(true));
  await until(() => answers.length === 2);
  answers[1]?.answer(checkOf(false));
  await until(() => connections[0]?.endReason === 'traffic_policy');
  expect(answers).toHaveLength(2);
});

it('the service is asked again until it answers', async () => {
  const { apply, answers, connections, failures } = trial();
  apply(ASKED);
  for (let n = 0; n < 2; n += 1) {
    await until(() => answers.length === n + 1);
    answers[n]?.fail();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await until(() => answers.length === 3);
  answers[2]?.answer(checkOf(false));
  await until(() => connections[0]?.endReason === 'traffic_policy');
  expect(failures).toEqual([]);
});

it('a connection ends if the service does not answer for as long as a gateway waits for it', async () => {
  const { apply, answers, connections } = trial({ graceMs: 0 });
  apply(ASKED);
  await until(() => answers.length === 1);
  answers[0]?.fail();
  await until(() => connections[0]?.endReason === 'service_unavailable');
});
