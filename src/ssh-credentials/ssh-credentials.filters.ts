import { queryParameter } from '../http/openapi/parts.js';
import { Problem, quoted } from '../problem.js';
import { readFingerprint } from '../public-keys/fingerprint.js';
import { requireWellFormedOwnerId } from '../resources/access-rules.js';
import type { ListFilter } from '../resources/resource.js';
import type { SshCredential } from './ssh-credential.js';

/** A key has few credentials, so this one comes first. */
const FINGERPRINT: ListFilter<SshCredential> = {
  name: 'fingerprint',
  read: readFingerprint,
  rows: `(t.fingerprint, t.id) < ($4, $2) and (t.fingerprint, t.id) > ($4, '') and (t.account_id = $1) is true`,
  order: 't.fingerprint desc, t.id desc',
  condition: (value) => `t.fingerprint = ${value}`,
  matches: ({ fingerprint }, value) => fingerprint === value,
};

const OWNER_ID: ListFilter<SshCredential> = {
  name: 'owner_id',
  read(text) {
    requireWellFormedOwnerId(text);
    return text;
  },
  rows: `t.account_id = $1 and (t.owner_id, t.id) < ($4, $2) and (t.owner_id, t.id) > ($4, '')`,
  order: 't.owner_id desc, t.id desc',
  condition: (value) => `t.owner_id = ${value}`,
  matches: ({ owner_id }, value) => owner_id === value,
};

/** Also what has expired already: it stays in the list until someone deletes it. */
const EXPIRING_BEFORE: ListFilter<SshCredential> = {
  name: 'expiring_before',
  read: readTime,
  rows: `t.account_id || '' = $1 and coalesce(t.expires_at, 'infinity') < $4::timestamptz
    and coalesce(t.expires_at, 'infinity') < 'infinity' and (t.id < $2) is true`,
  // The index has no id, and no other index must look as if it had the right order.
  order: `t.id || '' desc`,
  condition: (value) => `t.expires_at < ${value}::timestamptz`,
  matches: ({ expires_at }, value) => expires_at != null && expires_at < new Date(value),
};

export const FILTERS = [FINGERPRINT, OWNER_ID, EXPIRING_BEFORE];

function readTime(text: string): string {
  const time = new Date(text.replace(' ', '+'));
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  throw new Problem('request_malformed', `expiring_before ${quoted(text)} is not an RFC 3339 time.`);
}

export const FILTER_PARAMETERS = [
  queryParameter(
    FINGERPRINT.name,
    'Only credentials of the key with this fingerprint, as `ssh-keygen -l` and the logs of sshd print it. ' +
      'Its `+` and `/` are to be percent-encoded; a blank counts as `+`.',
    { type: 'string', examples: ['SHA256:UNhY4JhezH9gQYqvDMWrWH9CwlcKiECVqejMrND2VFw'] },
  ),
  queryParameter(OWNER_ID.name, 'Only credentials of this owner.', { type: 'string', examples: ['bot_deploy'] }),
  queryParameter(
    EXPIRING_BEFORE.name,
    'Only credentials that expire before this RFC 3339 time. Those that have expired already are among them.',
    { type: 'string', format: 'date-time' },
  ),
];
