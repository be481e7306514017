import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compile, permits } from '../../../rules/bind-rules/acl.js';
import type { BindTarget } from '../../../rules/bind-rules/bind-target.js';
import { ruleFor } from '../../../rules/bind-rules/rule-for-target.js';
import type { RefusalOf } from '../../reservations/reservation.js';
import { bindDecider } from './bind-decision.js';

type Grant = Parameters<typeof bindDecider>[1][number];

interface Circumstances {
  readonly isOwnerActive?: boolean;
  readonly isExpired?: boolean;
  readonly isSourceAllowed?: boolean;
  readonly expiresInMs?: number | null;
}
const INACTIVE = { isOwnerActive: false };
const EXPIRED = { isExpired: true };
const ELSEWHERE = { isSourceAllowed: false };

const grantOf = (
  credentialId: string,
  acl: readonly string[],
  { isOwnerActive = true, isExpired = false, isSourceAllowed = true, expiresInMs = null }: Circumstances = {},
): Grant => ({
  accountId: 'ac_1',
  credentialId,
  ownerId: 'usr_1',
  version: 1,
  isOwnerActive,
  isExpired,
  isSourceAllowed,
  expiresInMs,
  acl: compile(acl),
});
const decideOf = (grants: readonly Grant[], target: BindTarget, refusalOf: RefusalOf = () => undefined) =>
  bindDecider(
    grants,
    grants.filter(({ isOwnerActive, isExpired }) => isOwnerActive && !isExpired),
    refusalOf,
  )(target);

const HOSTS = ['a.example', 'b.example', 'c.example'];
const acls = fc.array(fc.constantFrom('*', 'bind:k=v', 'bind:*.example', ...HOSTS.map((host) => `bind:${host}`)), {
  maxLength: 3,
});
const circumstances = fc.record({
  isOwnerActive: fc.boolean(),
  isExpired: fc.boolean(),
  isSourceAllowed: fc.boolean(),
  expiresInMs: fc.option(fc.nat(99)),
});
const grants = fc.array(fc.tuple(acls, circumstances), { maxLength: 4 });
const targets = fc.constantFrom<BindTarget>(
  ...HOSTS.map((name) => ({ kind: 'domain', name }) as const),
  { kind: 'domain', name: 'example' },
  { kind: 'label', key: 'k', value: 'v' },
);

describe('bindDecider', () => {
  it('allows exactly what a credential with an active owner, neither expired nor used from elsewhere, permits, and names it with its rule; a refusal for lack of one names that rule', () => {
    fc.assert(
      fc.property(grants, targets, (owned, target) => {
        const all = owned.map(([acl, state], n) => grantOf(`sshcr_${n}`, acl, state));
        const first = all.find(
          (grant) =>
            grant.isOwnerActive && !grant.isExpired && grant.isSourceAllowed && permits(grant.acl, target).permitted,
        );
        const decision = decideOf(all, target);
        expect(decision.allowed).toBe(first !== undefined);
        expect(decision.reason === 'permitted').toBe(decision.allowed);
        expect(decision.needs).toBe(decision.reason === 'not_permitted' ? ruleFor(target) : null);
        if (first === undefined) expect(decision.matchedRule).toBeNull();
        else {
          expect(decision.grant).toBe(first);
          expect(decision.matchedRule).toBe(permits(first.acl, target).matchedRule);
        }
      }),
    );
  });

  it('permits until the last of the credentials that permit has expired: without an end if one of them has none', () => {
    fc.assert(
      fc.property(grants, targets, (owned, target) => {
        const all = owned.map(([acl, state], n) => grantOf(`sshcr_${n}`, acl, state));
        const ends = all
          .filter((one) => one.isOwnerActive && !one.isExpired && one.isSourceAllowed)
          .filter(({ acl }) => permits(acl, target).permitted)
          .map(({ expiresInMs }) => expiresInMs ?? Number.POSITIVE_INFINITY);
        const last = Math.max(...ends);
        expect(decideOf(all, target).expiresInMs).toBe(Number.isFinite(last) ? last : null);
      }),
      // Few have two credentials that permit.
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['unknown_key', [], undefined],
    ['owner_inactive', [grantOf('sshcr_1', [], INACTIVE), grantOf('sshcr_2', [], INACTIVE)], 'sshcr_1'],
    ['owner_inactive', [grantOf('sshcr_1', [], { ...INACTIVE, ...EXPIRED })], 'sshcr_1'],
    ['expired', [grantOf('sshcr_1', [], INACTIVE), grantOf('sshcr_2', [], EXPIRED)], 'sshcr_2'],
    ['expired', [grantOf('sshcr_1', [], EXPIRED), grantOf('sshcr_2', [], EXPIRED)], 'sshcr_1'],
    ['not_permitted', [grantOf('sshcr_1', [], EXPIRED), grantOf('sshcr_2', ['bind:k=v'])], 'sshcr_2'],
    ['source_not_allowed', [grantOf('sshcr_1', ['bind:k=v'], ELSEWHERE), grantOf('sshcr_2', [], ELSEWHERE)], 'sshcr_2'],
    ['source_not_allowed', [grantOf('sshcr_1', ['bind:k=v'], ELSEWHERE)], 'sshcr_1'],
    ['source_not_allowed', [grantOf('sshcr_1', ['bind:k=v']), grantOf('sshcr_2', [], ELSEWHERE)], 'sshcr_2'],
    ['not_permitted', [grantOf('sshcr_1', ['bind:k=v'], ELSEWHERE), grantOf('sshcr_2', ['bind:k=v'])], 'sshcr_2'],
    ['not_permitted', [grantOf('sshcr_1', [], INACTIVE), grantOf('sshcr_2', ['bind:k=v'])], 'sshcr_2'],
    ['not_permitted', [grantOf('sshcr_1', ['bind:k=v']), grantOf('sshcr_2', ['bind:k=v'])], 'sshcr_1'],
  ])(
    'refuses as %s, and names the oldest credential for which this is the reason',
    (reason, considered, credentialId) => {
      const decision = decideOf(considered, { kind: 'domain', name: 'a.example' });
      expect(decision).toMatchObject({ allowed: false, reason, matchedRule: null });
      expect(decision.grant?.credentialId).toBe(credentialId);
    },
  );

  it('refuses what is reserved for others with that reason, after the reasons of the key and before those of its rules', () => {
    const refusalOf: RefusalOf = (accountId) => (accountId === 'ac_1' ? 'reserved_elsewhere' : undefined);
    const target: BindTarget = { kind: 'domain', name: 'a.example' };
    const reasonOf = (...all: readonly Grant[]) => decideOf(all, target, refusalOf).reason;
    expect(reasonOf()).toBe('unknown_key');
    expect(reasonOf(grantOf('sshcr_1', [], { isOwnerActive: false }))).toBe('owner_inactive');
    expect(reasonOf(grantOf('sshcr_1', [], { isExpired: true }))).toBe('expired');
    for (const state of [{}, { isSourceAllowed: false }]) {
      expect(reasonOf(grantOf('sshcr_1', [], state))).toBe('reserved_elsewhere');
      expect(reasonOf(grantOf('sshcr_1', ['bind:b.example'], state))).toBe('reserved_elsewhere');
    }
  });
});
