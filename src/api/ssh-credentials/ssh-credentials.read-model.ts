import type { Pool } from 'pg';
import { coalescedRows, wantedRows } from '../../database/index.js';
import { claimValue, entityTable, type ReadModel } from '../../event-log/index.js';
import { malformed, quoted } from '../../kernel/problem.js';
import { compile, parseTargetText, permits, readFingerprint } from '../../rules/index.js';
import { requireWellFormedId } from '../resources/access-rules.js';
import { parseTime } from '../resources/expiry/expiry.js';
import { type ListFilter, OF_OWNER, type ScanFilter } from '../resources/resource-descriptor.js';
import { evolve, type SshCredential, type SshCredentialEvent } from './ssh-credential.js';

const TABLE = entityTable<SshCredential>(
  'ssh_credentials',
  [
    ...(['description', 'metadata', 'public_key', 'acl', 'owner_id'] as const),
    ...(['key_type', 'key_bits', 'key_blob', 'fingerprint', 'exclusive'] as const),
    ...(['expires_at', 'source_cidrs', 'device_name', 'device_addr'] as const),
  ],
  // A row with a name is written after all others, since a rotation frees the name in the same append.
  (row) => [
    ...(row.device_name == null ? [] : [`name:${row.device_name}`]),
    ...(row.exclusive === true ? [`key:${row.fingerprint}`] : []),
  ],
  { kind: 'key', column: 'fingerprint' },
);

export const sshCredentialsReadModel: ReadModel<SshCredential, SshCredentialEvent> = {
  streamPrefixes: ['sshcr'],
  events: {
    'ssh_credential_created.v1': { isStart: true },
    'ssh_credential_updated.v1': {},
    'ssh_credential_expiry_changed.v1': {},
    'ssh_credential_source_restriction_changed.v1': {},
    'ssh_credential_deleted.v1': { isEnd: true },
  },
  evolve,
  tables: [TABLE],
};

/** The unique index that strict mode writes into; violated when two creates of one key race. */
export const USED_KEY_CONSTRAINT = 'ssh_credentials_exclusive_key';

/** The unique index of an account's devices; violated when two of one name enrol at once. */
export const DEVICE_NAME_CONSTRAINT = 'ssh_credentials_device_name';

/** An account has one claim for each of its keys. Each claimed value is returned as `id`. */
const USED_KEYS = {
  name: 'used_keys',
  text: `select t.value as id from ${wantedRows('claims', 'value')} t`,
};

/** The keys of an account's credentials. */
export class UsedKeys {
  constructor(private readonly pool: Pool) {}

  private readonly find = coalescedRows(this.pool, USED_KEYS, () => true);

  async has(accountId: string, fingerprint: string): Promise<boolean> {
    return (await this.find({ accountId, id: claimValue('key', fingerprint) })) === true;
  }
}

/**
 * A key has few credentials, so this one comes first. `is true`: a plan must not begin with the credentials of the
 * account.
 */
const FINGERPRINT: ListFilter<SshCredential> = {
  name: 'fingerprint',
  isFixed: true,
  read: readFingerprint,
  rows: `(t.fingerprint, t.id) < ($4, $2) and (t.fingerprint, t.id) > ($4, '') and (t.account_id = $1) is true`,
  order: 't.fingerprint desc, t.id desc',
  condition: (value) => `t.fingerprint = ${value}`,
  matches: ({ fingerprint }, value) => fingerprint === value,
};

const OWNER_ID: ListFilter<SshCredential> = {
  ...OF_OWNER,
  read(text) {
    requireWellFormedId('owner_id', text);
    return text;
  },
  condition: (value) => `t.owner_id = ${value}`,
  matches: ({ owner_id }, value) => owner_id === value,
};

/** Credentials that have expired already are among them: they stay in the list until someone deletes them. */
const EXPIRING_BEFORE: ListFilter<SshCredential> = {
  name: 'expiring_before',
  // A plus sign in a URL arrives as a blank.
  read: (text) => parseTime('expiring_before', text.replace(' ', '+')).toISOString(),
  // `offset 0` keeps PostgreSQL from one plan for both queries, which would look for the few rows through the whole
  // account.
  from: '(select * from ssh_credentials where account_id = $1 and expires_at < $4::timestamptz offset 0)',
  rows: 't.id < $2',
  order: 't.id desc',
  condition: (value) => `t.expires_at < ${value}::timestamptz`,
  matches: ({ expires_at }, value) => expires_at != null && expires_at < new Date(value),
};

/** A look-up for each credential: a join could read all that are online. */
const presence = (of: string, is: string): string =>
  `(select ${is} from credential_presence p where p.account_id = ${of}.account_id and p.credential_id = ${of}.id)`;
const IS_ONLINE = (of: string): string => `${presence(of, 'p.sessions > 0')} is true`;
const SEEN_SINCE = (value: string): string =>
  `${presence('t', `p.sessions > 0 or p.last_seen_at >= ${value}::timestamptz`)} is true`;
const NOT_OF_A_MOMENT = { isOfNow: true, matches: () => false } as const;

/** Credentials that nobody uses now, and that were last seen earlier or never. */
const LAST_SEEN_BEFORE: ListFilter<SshCredential> = {
  ...NOT_OF_A_MOMENT,
  name: 'last_seen_before',
  read: (text) => parseTime('last_seen_before', text.replace(' ', '+')).toISOString(),
  rows: `t.account_id = $1 and t.id < $2 and t.id > 'sshcr_' and not ${SEEN_SINCE('$4')}`,
  order: 't.id desc',
  condition: (value) => `not ${SEEN_SINCE(value)}`,
};

/**
 * A session may outlive its credential for a moment, so the first part looks at some more. As the last filter it finds rows only if it is the only one, so each part of its relation may have the limit of the page:
 * few credentials may be online, or few may not be.
 */
const ONLINE: ListFilter<SshCredential> = {
  ...NOT_OF_A_MOMENT,
  name: 'online',
  read(text) {
    if (text === 'true' || text === 'false') return text;
    throw malformed(`online ${quoted(text)} must be true or false.`);
  },
  from: `((select c.* from (
      select p.credential_id from credential_presence p
      where $4::boolean and (p.account_id, p.credential_id) < ($1, $2) and (p.account_id, p.credential_id) > ($1, '') and p.sessions > 0
      order by p.account_id desc, p.credential_id desc limit $3 + 100
    ) o cross join lateral (select * from ssh_credentials c where c.account_id = $1 and c.id = o.credential_id limit 1) c)
    union all (select c.* from ssh_credentials c
      where not $4::boolean and c.account_id = $1 and c.id < $2 and not ${IS_ONLINE('c')} order by c.id desc limit $3))`,
  rows: 'true',
  order: 't.id desc',
  condition: (value) => `(${IS_ONLINE('t')}) = ${value}::boolean`,
};

/** Letters are compared without their case. */
const TEXT: ScanFilter<SshCredential> = {
  name: 'text',
  read: (text) => text.toLowerCase(),
  matches: ({ description, metadata }, value) =>
    description.toLowerCase().includes(value) || metadata.toLowerCase().includes(value),
};

/** By its rules alone: reservations, its owner and where it comes from may still keep a credential from a target. */
const PERMITS: ScanFilter<SshCredential> = {
  name: 'permits',
  read(text) {
    parseTargetText(text);
    return text;
  },
  matches: ({ acl }, value) => permits(compile(acl), parseTargetText(value)).permitted,
};

export const SCANS = [TEXT, PERMITS];

/** The filters of the list. */
export const FILTERS = [FINGERPRINT, OWNER_ID, EXPIRING_BEFORE, LAST_SEEN_BEFORE, ONLINE];
