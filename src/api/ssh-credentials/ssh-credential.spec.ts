import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Decision, expectRepetitionsToRecordNothing, given as givenEvents } from '../../../test/support/given.js';
import type { Caller } from '../../kernel/caller.js';
import {
  type CreatedSshCredential,
  create,
  evolve,
  remove,
  type SshCredential,
  type SshCredentialEvent,
  update,
} from './ssh-credential.js';

const caller = (principalId: string, role: Caller['role'] = 'member'): Caller => ({
  accountId: 'ac_1',
  principalId,
  kind: 'user',
  role,
  apiKeyId: 'ak_1',
});
const owner = caller('usr_owner');
const admin = caller('usr_admin', 'admin');
const stranger = caller('usr_stranger');

const credential: CreatedSshCredential = {
  description: 'laptop',
  metadata: '',
  public_key: 'ssh-ed25519 AAAA me',
  acl: ['bind:*.example.com'],
  owner_id: 'usr_owner',
  key_type: 'ssh-ed25519',
  key_bits: 256,
  key_blob: 'AAAA',
  fingerprint: 'SHA256:x',
  exclusive: false,
};

const created = create(credential);
const deleted: SshCredentialEvent = { type: 'ssh_credential_deleted.v1', data: {} };
const updated = (data: object): SshCredentialEvent => ({ type: 'ssh_credential_updated.v1', data });

const given = (...history: SshCredentialEvent[]) => givenEvents(evolve, ...history);

describe('create', () => {
  it('records the whole credential', () => {
    expect(create(credential)).toEqual([{ type: 'ssh_credential_created.v1', data: credential }]);
  });

  it('with an expiry and a restriction is one event, and the state has both', () => {
    const whole = { ...credential, expires_at: '2030-01-31T00:00:00.000Z', source_cidrs: ['192.0.2.0/24'] };
    const { state } = given(...create(whole));
    expect(create(whole)).toEqual([{ type: 'ssh_credential_created.v1', data: whole }]);
    expect(state).toEqual({ ...whole, expires_at: new Date('2030-01-31T00:00:00.000Z') });
  });

  it('and evolve are each other’s reverse', () => {
    expect(given(...created).state).toEqual(credential);
  });
});

describe('update', () => {
  it.each([
    ['description', { description: 'desk' }],
    ['metadata', { metadata: 'm' }],
    ['acl', { acl: ['*'] }],
    ['an emptied acl', { acl: [] }],
    ['several', { description: '', metadata: 'x' }],
  ])('records the changed %s and nothing else', (_, change) => {
    expect(given(...created).when((state) => update(state, owner, change))).toEqual([updated(change)]);
  });

  it('leaves out unchanged fields', () => {
    const changes = { description: 'desk', metadata: '', acl: credential.acl };
    expect(given(...created).when((state) => update(state, owner, changes))).toEqual([
      updated({ description: 'desk' }),
    ]);
  });

  it('records the order of rules as a change: it is given back as sent', () => {
    const two = create({ ...credential, acl: ['*', 'bind:a'] });
    expect(given(...two).when((state) => update(state, owner, { acl: ['bind:a', '*'] }))).toHaveLength(1);
  });

  it('is for the owner and admins', () => {
    const change = { description: 'x' };
    expect(given(...created).when((state) => update(state, admin, change))).toHaveLength(1);
    expect(given(...created).when((state) => update(state, stranger, change))).toContain('Only its owner or an admin');
  });

  it('of an unknown or deleted credential is "not found"', () => {
    expect(given().when((state) => update(state, owner, {}))).toContain('Resource not found');
    expect(given(...created, deleted).when((state) => update(state, owner, {}))).toContain('Resource not found');
  });
});

describe('remove', () => {
  it('records the deletion, for the owner and admins', () => {
    expect(given(...created).when((state) => remove(state, owner))).toEqual([deleted]);
    expect(given(...created).when((state) => remove(state, admin))).toEqual([deleted]);
    expect(given(...created).when((state) => remove(state, stranger))).toContain('Only its owner or an admin');
  });

  it('leaves nothing', () => {
    expect(given(...created, updated({ description: 'x' }), deleted).state).toBeUndefined();
  });
});

describe('law: any command twice = once', () => {
  const text = fc.string({ maxLength: 5 });
  const change = fc.record(
    { description: text, metadata: text, acl: fc.array(fc.constantFrom('*', 'bind:a', 'bind:b'), { maxLength: 3 }) },
    { requiredKeys: [] },
  );
  type Decide = Decision<SshCredential, SshCredentialEvent>;
  const decision: fc.Arbitrary<Decide> = fc.oneof(
    // Each create has a new id, so it never meets a state.
    change.map(
      (c): Decide =>
        (state) =>
          state === undefined ? create({ ...credential, ...c }) : [],
    ),
    change.map(
      (c): Decide =>
        (state) =>
          update(state, owner, c),
    ),
    fc.constant<Decide>((state) => remove(state, owner)),
  );

  it('the second run of any command after any history yields nothing', () => {
    expectRepetitionsToRecordNothing(evolve, decision);
  });
});
