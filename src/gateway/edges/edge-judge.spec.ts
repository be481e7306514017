import { describe, expect, it } from '@jest/globals';
import { readTrafficPolicy } from '../../rules/traffic-policy/traffic-policy.js';
import { UnreadablePolicy } from '../../rules/traffic-policy/unreadable-policy.js';
import type { EdgeAnswer, ListedEdge } from './edge-answer.js';
import { EdgeJudge } from './edge-judge.js';
import type { Judgement, ServedEdge } from './served-edge.js';

const settle = (): Promise<void> => new Promise(setImmediate);

function answerOf(value: string, { id = 'edgtcp_1', account = 'ac_1', labels = {} } = {}): EdgeAnswer {
  const backend = { enabled: true, backend: { id: 'bkdtg_1' } };
  const listed: ListedEdge = {
    ...{ account_id: account, ip_policies: [], traffic_policy_error: null, check: null },
    edge: { id, backend, ip_restriction: null, traffic_policy: { enabled: true, value } },
    tunnel_group: { id: 'bkdtg_1', labels: { team: 'blue', ...labels } },
  };
  return { edges: [listed], before_left_out: 1 };
}

/** Texts are read when `release` says so, each to a policy whose memory is the number in it. */
function trial({ maxBytesOfAccount = 10_000, readsAtOnce = false } = {}) {
  const reading: string[] = [];
  const releases: (() => void)[] = [];
  const read = (text: string) =>
    new Promise<ReturnType<typeof policyOf> | UnreadablePolicy>((resolve) => {
      reading.push(text);
      releases.push(() => resolve(text === 'deny' ? new UnreadablePolicy('the policy', 'is none.') : policyOf(text)));
      if (readsAtOnce) releases.at(-1)?.();
    });
  const served = new Map<string, ServedEdge | undefined>();
  const judged: [hostport: string, Judgement][] = [];
  const freed: string[] = [];
  const failures: unknown[] = [];
  const policies = new EdgeJudge(
    {
      isIgnoring: false,
      judged: async (hostport, judgement) => {
        judged.push([hostport, judgement]);
        served.set(hostport, judgement.served);
      },
      freed: (hostports) => void freed.push(...hostports),
      failed: (error) => void failures.push(error),
    },
    { reader: { known: () => undefined, read }, maxBytesOfAccount },
  );
  const judge = (hostport: string, answer: EdgeAnswer): Judgement => {
    const judgement = policies.judge(hostport, answer, served.get(hostport));
    served.set(hostport, judgement.served);
    return judgement;
  };
  const release = async (): Promise<void> => {
    releases.shift()?.();
    await settle();
  };
  return { policies, judge, release, reading, judged, served, freed, failures };
}
const policyOf = (text: string) => ({ enabled: true, rules: [], ipPolicyIds: [], memoryBytes: Number(text) || 1 });

describe('when a text was read', () => {
  it('the same answer is judged again, without a question that could fail', async () => {
    const { judge, release, judged } = trial();
    judge('a:1', answerOf('1'));
    await release();
    expect(judged).toMatchObject([['a:1', { served: { isOpen: true, policy: { policy: { memoryBytes: 1 } } } }]]);
    judge('a:1', answerOf('deny'));
    await release();
    expect(judged[1]).toMatchObject(['a:1', { served: undefined, refusal: expect.stringContaining('is none.') }]);
  });

  it('but not if a newer answer came meanwhile', async () => {
    const { judge, release, judged, reading } = trial();
    judge('a:1', answerOf('1'));
    judge('a:1', { edges: [], before_left_out: 0 });
    await release();
    expect(judged).toEqual([]);
    judge('a:1', answerOf('2'));
    judge('a:1', answerOf('3'));
    judge('a:1', answerOf('4'));
    for (const _ of '1234') await release();
    expect(judged).toMatchObject([['a:1', { served: { policy: { policy: { memoryBytes: 4 } } } }]]);
    expect(reading).not.toContain('3');
  });

  it('and not once the gateway has closed all edges', async () => {
    const { policies, judge, release, judged } = trial();
    judge('a:1', answerOf('1'));
    policies.forgetUnread();
    await release();
    expect(judged).toEqual([]);
  });

  it('a failure is told, and others are read', async () => {
    const { judge, judged, failures } = trial({ readsAtOnce: true });
    const [listed] = answerOf('1').edges;
    const broken = { id: 'ipp_1', exists: true, rules: [{ id: '', cidr: 'none', action: 'allow' as const }] };
    const edges = [{ ...(listed as ListedEdge), ip_policies: [broken] }];
    expect(() => judge('a:1', { edges, before_left_out: 1 })).toThrow();
    judge('a:2', answerOf('2'));
    await settle();
    expect(judged.map(([hostport]) => hostport)).toEqual(['a:2']);
    expect(failures).toEqual([]);
  });
});

it('one text of an account is read at a time, and those of others meanwhile', async () => {
  const { judge, release, reading } = trial();
  judge('a:1', answerOf('1'));
  judge('a:2', answerOf('2'));
  judge('b:1', answerOf('3', { account: 'ac_2' }));
  expect(reading).toEqual(['1', '3']);
  await release();
  expect(reading).toEqual(['1', '3', '2']);
});

it('a text that is in force is not read again, whatever the reader holds', async () => {
  const { judge, release, reading, served } = trial();
  judge('a:1', answerOf('1'));
  await release();
  judge('a:1', answerOf('1', { labels: { app: 'web' } }));
  judge('a:2', answerOf('1'));
  expect(served.get('a:2')?.policy?.policy).toBe(served.get('a:1')?.policy?.policy);
  expect(served.get('a:1')).toMatchObject({ isOpen: true, labels: { app: 'web' } });
  expect(reading).toEqual(['1']);
});

describe('the policies of an account', () => {
  it('need limited memory: an edge beyond it is not served, and asked about when there is room', async () => {
    const { judge, judged, freed } = trial({ readsAtOnce: true });
    judge('a:1', answerOf('6000'));
    judge('a:2', answerOf('6001'));
    judge('b:1', answerOf('6002', { account: 'ac_2' }));
    await settle();
    const refusal = 'edge edgtcp_1 is not served: the traffic policies of its account need more than 32 MiB here';
    expect(new Map(judged)).toMatchObject(
      new Map<string, object>([
        ['a:1', { served: { isOpen: true } }],
        ['b:1', { served: { isOpen: true } }],
        ['a:2', { served: undefined, refusal: expect.stringContaining(refusal) }],
      ]),
    );
    expect(freed).toEqual([]);
    judge('a:1', answerOf('1'));
    await settle();
    expect(freed).toContain('a:2');
    judge('a:2', answerOf('6001'));
    await settle();
    expect(judged.at(-1)).toMatchObject(['a:2', { served: { isOpen: true } }]);
  });

  it('are not read if their texts alone show that there is no room', () => {
    const { judge, reading } = trial({ maxBytesOfAccount: 2 * 10 });
    expect(judge('a:1', answerOf('1'.padEnd(11)))).toMatchObject({ served: undefined });
    expect(judge('a:1', answerOf('1'.padEnd(10)))).toMatchObject({ unread: {} });
    expect(reading).toHaveLength(1);
  });

  it('have as much memory as that is reckoned with before they are read', async () => {
    const text = JSON.stringify({ on_tcp_connect: [{ actions: [{ type: 'deny' }] }] });
    for (const one of ['{}', text]) {
      expect((await readTrafficPolicy(one)).memoryBytes).toBeGreaterThanOrEqual(2 * one.length);
    }
  });
});
