import { describe, expect, it } from '@jest/globals';
import type { ListedEdge } from './edge-answer.js';
import { hasLabels, inTurn } from './matching-tunnels.js';
import { servingOf } from './served-edge.js';

type Beside = Pick<ListedEdge, 'ip_policies' | 'tunnel_group' | 'traffic_policy_error' | 'ip_policies_error'>;
type Modules = Partial<ListedEdge['edge']> & Partial<Beside>;

const GROUP = { id: 'bkdtg_1', labels: { team: 'blue' } };

function listed(more: Modules = {}): ListedEdge {
  const { ip_policies = [], tunnel_group = GROUP, traffic_policy_error = null, ip_policies_error = null } = more;
  const { backend, ip_restriction = null, traffic_policy = null } = more;
  const edge = { id: '1', backend: backend ?? { enabled: true, backend: { id: 'bkdtg_1' } } };
  const beside = { ip_policies, tunnel_group, traffic_policy_error, ip_policies_error };
  return { account_id: 'ac_1', edge: { ...edge, ip_restriction, traffic_policy }, ...beside };
}

const restriction = (enabled: boolean, ...ids: string[]) => ({ enabled, ip_policies: ids.map((id) => ({ id })) });
const KNOWN = { id: 'ipp_1', exists: true, rules: [{ id: 'ipr_1', cidr: '10.0.0.0/8', action: 'allow' as const }] };
const UNKNOWN = { id: 'ipp_2', exists: false, rules: null };
const policy = (enabled = true) => ({ traffic_policy: { enabled, value: '[]' } });
const UNREADABLE = { ...policy(), traffic_policy_error: 'the policy must be an object.' };

describe('an edge', () => {
  it.each<[what: string, edge: Modules, why: string]>([
    [
      'an unknown policy',
      { ip_restriction: restriction(true, 'ipp_1', 'ipp_2'), ip_policies: [KNOWN, UNKNOWN] },
      'names a policy that does not exist: ipp_2',
    ],
    ['too many rules', { ip_policies_error: 'the IP policies have too many rules.' }, 'have too many rules'],
    [
      'a traffic policy that the service cannot read',
      UNREADABLE,
      'cannot be read (see GATEWAY_TRAFFIC_POLICIES): the policy must be',
    ],
    ['another backend', { backend: { enabled: true, backend: { id: 'bkdhr_1' } }, tunnel_group: null }, 'bkdhr_1'],
    ['a group without labels', { tunnel_group: { id: 'bkdtg_1', labels: {} } }, 'no labels'],
  ])('with %s closes the hostport, and changes of all that it names can open it', (_, edge, why) => {
    const { served, refusal, concerns } = servingOf(listed(edge), false);
    expect(served).toBeUndefined();
    expect(refusal).toContain('edge 1 is not served: ');
    expect(refusal).toContain(why);
    const { backend, ip_policies = [] } = edge;
    expect([...concerns].sort()).toEqual(['1', backend?.backend.id ?? 'bkdtg_1', ...ip_policies.map(({ id }) => id)]);
  });

  it('is served with its traffic policy and the IP policies that exist', () => {
    const edge = { ...policy(), ip_restriction: restriction(true, 'ipp_1'), ip_policies: [KNOWN, UNKNOWN] };
    const { served, concerns } = servingOf(listed(edge), false);
    expect(served).toMatchObject({ id: '1', accountId: 'ac_1', labels: { team: 'blue' }, policyText: '[]' });
    expect(served?.restriction).toEqual({ enabled: true, ip_policy_ids: ['ipp_1'] });
    expect([...(served?.ipPolicies().keys() ?? [])]).toEqual(['ipp_1']);
    expect(served?.ipPolicies()).toBe(served?.ipPolicies());
    expect(concerns).toEqual(new Set(['1', 'bkdtg_1', 'ipp_1', 'ipp_2']));
  });

  it('whose modules are disabled is served as if it had none', () => {
    const edge = { ip_restriction: restriction(false, 'ipp_2'), ip_policies: [UNKNOWN], ...policy(false) };
    expect(servingOf(listed(edge), false).served).toMatchObject({
      restriction: { enabled: false },
      policyText: undefined,
    });
  });

  it('is served without its traffic policy if the operator says so', () => {
    expect(servingOf(listed(UNREADABLE), true).served).toMatchObject({ id: '1', policyText: undefined });
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
