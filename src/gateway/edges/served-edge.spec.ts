import { describe, expect, it } from '@jest/globals';
import { parseSource } from '../../rules/ip-rules/address.js';
import { UnreadablePolicy } from '../../rules/traffic-policy/unreadable-policy.js';
import type { ListedEdge } from './edge-answer.js';
import { hasLabels, inTurn } from './matching-tunnels.js';
import { judge, type PolicyText, type ServedEdge } from './served-edge.js';

type Beside = Pick<ListedEdge, 'ip_policies' | 'tunnel_group' | 'traffic_policy_error'>;
type Modules = Partial<ListedEdge['edge']> & Partial<Beside>;

const listed = (id: string, more: Modules = {}): ListedEdge => {
  const { ip_policies = [], tunnel_group = { id: 'bkdtg_1', labels: { team: 'blue' } }, ...others } = more;
  const { traffic_policy_error = null, ...modules } = others;
  const backend = { enabled: true, backend: { id: 'bkdtg_1' } };
  const edge = { id, backend, ip_restriction: null, traffic_policy: null, ...modules };
  return { account_id: `ac_${id}`, edge, ip_policies, tunnel_group, traffic_policy_error, check: null };
};

const restriction = (enabled: boolean, ...ids: string[]) => ({ enabled, ip_policies: ids.map((id) => ({ id })) });
const allow = { id: 'ipr_1', cidr: '10.0.0.0/8', action: 'allow' as const };
const KNOWN = { id: 'ipp_1', exists: true, rules: [allow] };
const UNKNOWN = { id: 'ipp_2', exists: false, rules: null };
const OTHER = { id: 'ipp_4', exists: true, rules: [allow] };
const TOO_LARGE = { id: 'ipp_3', exists: true, rules: null };
const DISABLED = { enabled: false, backend: { id: 'bkdtg_1' } };

const policy = (value: string, enabled = true) => ({ traffic_policy: { enabled, value } });
const naming = (...ids: string[]): string => JSON.stringify(ids);

/** Reads what `naming` writes, as the library would read a policy that names these IP policies. */
const readingOf = ({ text }: Pick<PolicyText, 'text'>) =>
  text === 'deny'
    ? new UnreadablePolicy('the policy', 'must be an object.')
    : { enabled: true, rules: [], ipPolicyIds: JSON.parse(text), memoryBytes: 1 };

const answerOf = (...edges: ListedEdge[]) => ({ edges, before_left_out: edges.length });
const servedBy = (...edges: ListedEdge[]) => judge(answerOf(...edges), readingOf);
const letsIn = (edge: ListedEdge, source: string) => {
  const address = parseSource(source);
  return address && servedBy(edge).served?.letsIn(address);
};

describe('of the edges at a hostport', () => {
  it('the first one whose backend is enabled serves', () => {
    expect(servedBy(listed('1'), listed('2')).served).toMatchObject({ id: '1', accountId: 'ac_1' });
    expect(servedBy(listed('1', { backend: DISABLED }), listed('2', { backend: null }), listed('3')).served?.id).toBe(
      '3',
    );
    expect(servedBy(listed('1', { backend: DISABLED })).served).toBeUndefined();
    expect(servedBy()).toMatchObject({ served: undefined });
  });

  it.each<[what: string, edge: Modules, why: string]>([
    [
      'an unknown policy',
      { ip_restriction: restriction(true, 'ipp_1', 'ipp_2'), ip_policies: [KNOWN, UNKNOWN] },
      'ipp_2',
    ],
    [
      'a traffic policy that is none',
      policy('deny'),
      'cannot be read (see GATEWAY_TRAFFIC_POLICIES): the policy must be',
    ],
    [
      'a traffic policy that the service cannot read',
      { ...policy('[]'), traffic_policy_error: 'enabled must be true or false.' },
      'enabled must be true or false.',
    ],
    ['another backend', { backend: { enabled: true, backend: { id: 'bkdhr_1' } }, tunnel_group: null }, 'bkdhr_1'],
    ['a group without labels', { tunnel_group: { id: 'bkdtg_1', labels: {} } }, 'no labels'],
  ])('one with %s closes the hostport, and no younger one takes its place', (_, edge, why) => {
    const { served, refusal } = servedBy(listed('1', edge), listed('2'));
    expect(served).toBeUndefined();
    expect(refusal).toContain(`edge 1 is not served`);
    expect(refusal).toContain(why);
  });

  it('a later one does not serve when an earlier one may have been left out of the answer', () => {
    const disabled = listed('1', { backend: DISABLED });
    const { served, refusal } = judge({ edges: [disabled, listed('2')], before_left_out: 1 }, readingOf);
    expect([served, refusal]).toEqual([undefined, expect.stringContaining('left out the edge that comes first')]);
    expect(judge({ edges: [listed('1'), listed('2')], before_left_out: 1 }, readingOf).served?.id).toBe('1');
  });

  it('disabled modules do not count', () => {
    const edge = listed('1', {
      ip_restriction: restriction(false, 'ipp_2'),
      ip_policies: [UNKNOWN],
      ...policy('deny', false),
    });
    expect(letsIn(edge, '192.0.2.7')).toBe(true);
  });

  it('a traffic policy is ignored if the operator says so', () => {
    const edge = listed('1', { ...policy('deny'), traffic_policy_error: 'the policy must be an object.' });
    expect(judge(answerOf(edge), 'ignore').served).toMatchObject({ id: '1', policy: undefined });
  });

  const unread = () => undefined;

  it('one with a traffic policy lets no new client in until that is read, and then is served by the same answer', () => {
    const judgement = judge(answerOf(listed('1', policy('[]')), listed('2')), unread);
    expect(judgement).toMatchObject({ served: { id: '1', isOpen: false, policy: undefined } });
    expect(judgement.unread).toMatchObject({ accountId: 'ac_1', text: '[]' });
    expect(judgement.unread?.judge(readingOf({ text: '[]' }))).toMatchObject({ served: { id: '1', isOpen: true } });
    expect(judgement.unread?.judge(readingOf({ text: 'deny' }))).toMatchObject({
      served: undefined,
      refusal: expect.stringContaining('the policy must be'),
    });
    const closed = listed('1', { ...policy('[]'), tunnel_group: null });
    expect(judge(answerOf(closed), unread)).toMatchObject({ refusal: expect.stringContaining('bkdtg_1') });
  });

  describe('while a new traffic policy is not read', () => {
    const earlier = (text?: string): ServedEdge | undefined =>
      servedBy(listed('1', { ...(text && policy(text)), ip_policies: [KNOWN, OTHER] })).served;
    const changed = (more: Modules = {}) =>
      judge(answerOf(listed('1', { ...policy('[]'), ...more })), unread, earlier(naming('ipp_1', 'ipp_4')));

    it('the one that was in force decides, and all else of the answer counts', () => {
      const rules = { ip_restriction: restriction(true, 'ipp_1'), ip_policies: [{ ...KNOWN, rules: [] }] };
      const { served, concerns } = changed({ ...rules, tunnel_group: { id: 'bkdtg_1', labels: { team: 'red' } } });
      expect(served).toMatchObject({ isOpen: true, labels: { team: 'red' } });
      expect(served?.letsIn({ bits: 32, value: 0x0a000001n })).toBe(false);
      expect(served?.policy?.policy.ipPolicyIds).toEqual(['ipp_1', 'ipp_4']);
      expect(served?.policy?.ipPolicies.get('ipp_1')).not.toEqual(
        earlier(naming('ipp_1'))?.policy?.ipPolicies.get('ipp_1'),
      );
      expect([...concerns]).toEqual(expect.arrayContaining(['ipp_1', 'ipp_4']));
    });

    it('its IP policies that the answer does not name stay as they were', () => {
      expect([...(changed().served?.policy?.ipPolicies.keys() ?? [])]).toEqual(['ipp_1', 'ipp_4']);
      const gone = changed({ ip_policies: [{ ...KNOWN, exists: false, rules: null }] });
      expect([...(gone.served?.policy?.ipPolicies.keys() ?? [])]).toEqual(['ipp_4']);
      expect(changed({ ip_policies: [{ ...KNOWN, rules: null }] }).served?.policy?.isAsked).toBe(true);
    });

    it('an edge that had none, or another edge, lets no new client in', () => {
      const edge = listed('1', policy('[]'));
      expect(judge(answerOf(edge), unread, earlier()).served).toMatchObject({ isOpen: false, policy: undefined });
      const other = listed('2', policy('[]'));
      expect(judge(answerOf(other), unread, earlier('[]')).served).toMatchObject({ isOpen: false, policy: undefined });
    });
  });

  it('one is served with its traffic policy and the IP policies that exist', () => {
    const text = naming('ipp_1', 'ipp_2');
    const { served, concerns } = servedBy(listed('1', { ...policy(text), ip_policies: [KNOWN, UNKNOWN] }));
    expect(served?.policy).toMatchObject({ policy: { ipPolicyIds: ['ipp_1', 'ipp_2'] }, isAsked: false });
    expect([...(served?.policy?.ipPolicies.keys() ?? [])]).toEqual(['ipp_1']);
    expect(concerns).toEqual(new Set(['1', 'bkdtg_1', 'ipp_1', 'ipp_2']));
  });

  it('the service is asked about the rules that it did not send: those of the IP rules, of the policy, or of both', () => {
    const asked = (restricted: string, named: string) => {
      const { served } = servedBy(
        listed('1', {
          ip_restriction: restriction(true, restricted),
          ...policy(naming(named)),
          ip_policies: [KNOWN, TOO_LARGE],
        }),
      );
      return [served?.letsIn({ bits: 32, value: 0n }), served?.policy?.isAsked];
    };
    expect(asked('ipp_1', 'ipp_1')).toEqual([false, false]);
    expect(asked('ipp_3', 'ipp_1')).toEqual(['ask', false]);
    expect(asked('ipp_1', 'ipp_3')).toEqual([false, true]);
    expect(asked('ipp_3', 'ipp_3')).toEqual(['ask', true]);
  });

  it('all are named, with what they name, since a change of any can change who serves', () => {
    const older = listed('1', { backend: DISABLED, ip_policies: [KNOWN] });
    expect([...servedBy(older, listed('2')).concerns].sort()).toEqual(['1', '2', 'bkdtg_1', 'ipp_1']);
  });
});

describe('clients are let in', () => {
  it('by the rules of the policies; the service is asked if it did not send them', () => {
    const by = (...policies: ListedEdge['ip_policies'][number][]) =>
      listed('1', { ip_restriction: restriction(true, ...policies.map(({ id }) => id)), ip_policies: policies });
    expect(letsIn(by(KNOWN), '10.1.2.3')).toBe(true);
    expect(letsIn(by(KNOWN), '::ffff:10.1.2.3')).toBe(true);
    expect(letsIn(by(KNOWN), '192.0.2.7')).toBe(false);
    expect(letsIn(by(), '10.1.2.3')).toBe(false);
    expect(letsIn(by(KNOWN, TOO_LARGE), '192.0.2.7')).toBe('ask');
    expect(letsIn(listed('1'), '192.0.2.7')).toBe(true);
  });
});

describe('a tunnel belongs to a group', () => {
  const team = { key: 'team', value: 'blue' };
  const blue = { target: { labels: [team] } };
  const blueWeb = { target: { labels: [team, { key: 'app', value: 'web' }] } };

  it.each([
    ['with its label', blue, { team: 'blue' }, true],
    ['with all its labels, in any order', blueWeb, { app: 'web', team: 'blue' }, true],
    ['with some of its labels', blueWeb, { app: 'web' }, true],
    ['never with another value', blue, { team: 'Blue' }, false],
    ['never with another key', blue, { app: 'blue' }, false],
    ['never with a further label', blue, { team: 'blue', app: 'web' }, false],
    ['never with another value of a further label', blueWeb, { team: 'blue', app: 'db' }, false],
    ['never without labels', blue, {}, false],
    ['never by an address', { target: { address: '127.0.0.1', port: 1 } }, { team: 'blue' }, false],
    ['never by a domain', { target: { domain: 'team=blue' } }, { team: 'blue' }, false],
  ])('%s', (_, tunnel, labels, expected) => {
    expect(hasLabels(tunnel, labels as Record<string, string>)).toBe(expected);
  });

  it('and each begins in its turn', () => {
    expect([0, 1, 2, 3].map((turn) => inTurn(['a', 'b', 'c'], turn).join(''))).toEqual(['abc', 'bca', 'cab', 'abc']);
    expect(inTurn([], 7)).toEqual([]);
  });
});
