import { describe, expect, it } from '@jest/globals';
import { refuseReadOnlyChanges } from './read-only-fields.js';

const current = {
  id: 'sshcr_1',
  uri: '/ssh_credentials/sshcr_1',
  created_at: '2026-11-22T10:00:00.000Z',
  public_key: 'ssh-ed25519 AAAA me',
  owner_id: 'usr_owner',
  description: 'laptop',
  expires_at: '2030-01-31T00:00:00.000Z',
  source_cidrs: ['192.0.2.0/24', '2001:db8::/32'],
};
const DESCRIBED = {
  readOnlyFields: ['public_key', 'owner_id', 'expires_at', 'source_cidrs'],
  elsewhere: { expires_at: 'PUT /expiry' },
};
const patching = (sent: object) => () => refuseReadOnlyChanges(sent, current, DESCRIBED);

describe('a PATCH body', () => {
  it.each([
    ['no field', {}],
    ['every read-only field as GET shows it', current],
    ['another value of a field that may change', { description: 'desk' }],
    ['the URI with another host name of the service', { uri: 'https://other.example/base/ssh_credentials/sshcr_1' }],
    ['the same time in another spelling', { created_at: '2026-11-22T11:00:00+01:00' }],
    ['the same expiry in another spelling', { expires_at: '2030-01-31T00:00:00Z' }],
  ])('may hold %s', (_, sent) => {
    expect(patching(sent)).not.toThrow();
  });

  it.each([
    ['id', { id: 'sshcr_2' }],
    ['uri', { uri: 'https://service.example/ssh_credentials/sshcr_2' }],
    ['created_at', { created_at: '2026-11-22T10:00:00.001Z' }],
    ['created_at', { created_at: 'yesterday' }],
    ['public_key', { public_key: 'ssh-ed25519 AAAA you' }],
    ['owner_id', { owner_id: 'other' }],
    ['owner_id', { owner_id: '' }],
    ['expires_at', { expires_at: '' }],
    ['source_cidrs', { source_cidrs: [] }],
    ['source_cidrs', { source_cidrs: ['192.0.2.0/24'] }],
    ['source_cidrs', { source_cidrs: ['192.0.2.0/24,2001:db8::/32'] }],
  ])('that gives %s another value is refused', (field, sent) => {
    expect(patching(sent)).toThrow(`${field} is read-only: omit it, or send its current value.`);
  });

  it('is told which request changes the field', () => {
    expect(patching({ expires_at: '2031-01-31T00:00:00Z' })).toThrow('current value. Change it by PUT /expiry.');
  });
});
