import { describe, expect, it } from '@jest/globals';
import { TrafficPolicies } from './traffic-policies.js';

const DENY = '{"on_tcp_connect": [{"actions": [{"type": "deny"}]}]}';

describe('TrafficPolicies', () => {
  it('reads a text once, for all who ask at the same time and later', async () => {
    const policies = new TrafficPolicies();
    const first = policies.read(DENY, 'ac_a');
    expect(policies.read(`${DENY} `.trimEnd(), 'ac_b')).toBe(first);
    await first;
    expect(policies.read(DENY, 'ac_b')).toBe(first);
    expect(policies.read(`${DENY} `, 'ac_a')).not.toBe(first);
    expect(await first).toMatchObject({ policy: { enabled: true } });
  });

  it('says why it cannot read a text, which it does not read again', async () => {
    const policies = new TrafficPolicies();
    const first = policies.read('deny', 'ac_a');
    expect(await first).toEqual({ error: 'the policy must be an object, such as {"on_tcp_connect": []}.' });
    expect(policies.read('deny', 'ac_a')).toBe(first);
  });

  it('forgets what was used longest ago, when the texts have more bytes than it keeps', async () => {
    const policies = new TrafficPolicies(3_000);
    const [oldest, ...others] = ['a', 'b', 'c'].map((letter) => {
      const text = `{} # ${letter.repeat(900)}`;
      return { text, read: policies.read(text, 'ac_a') };
    });
    for (const { text, read } of others) expect(policies.read(text, 'ac_a')).toBe(read);
    expect(policies.read(oldest?.text ?? '', 'ac_a')).not.toBe(oldest?.read);
  });

  it('reads a text again that is too long to be kept', async () => {
    const policies = new TrafficPolicies(100);
    const first = policies.read(DENY, 'ac_a');
    expect(policies.read(DENY, 'ac_a')).not.toBe(first);
    expect(await first).toHaveProperty('policy');
  });
});
