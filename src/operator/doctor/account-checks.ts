import { findOldestAccount } from '../../api/access/accounts/first-account.js';
import { bootstrapKeyOf, type Config } from '../../api/config/config.js';
import { type Finding, ok, warning } from './finding.js';
import { type Primary, rowOf } from './server-check.js';

/** Compares the settings about accounts with the accounts that exist. */

export async function checkFirstKey({ client }: Primary, config: Config): Promise<readonly Finding[]> {
  const account = (await hasAccounts({ client })) ? await findOldestAccount(client) : undefined;
  if (account === undefined) return [ok('the first start makes an account, and its key')];
  const setting = config.bootstrapApiKeyFile === undefined ? 'BOOTSTRAP_API_KEY' : 'BOOTSTRAP_API_KEY_FILE';
  const isSet = bootstrapKeyOf(config) !== undefined;
  if (!account.hasHadKey) {
    return isSet
      ? [ok(`the first account has never had a key: the next start gives it the key of ${setting}`)]
      : [
          warning(
            'the first account has never had a key: run api-keys create, or set BOOTSTRAP_API_KEY and start again',
          ),
        ];
  }
  if (!isSet) return [ok('the first account has had a key')];
  return [warning(`${setting} is still set, although the first account has had a key: remove it, it has no effect`)];
}

export async function checkGateways({ client }: Primary, { gatewayTokens }: Config): Promise<readonly Finding[]> {
  if (gatewayTokens.length === 0)
    return [ok('GATEWAY_TOKENS is not set: only a start --with-gateway has routes for gateways')];
  const bound = gatewayTokens.filter(({ accountId }) => accountId !== undefined);
  const known = (await hasAccounts({ client })) ? await accountsAmong(client, bound) : new Set();
  const lost = bound.filter(({ accountId }) => !known.has(accountId));
  const named = gatewayTokens.filter(({ name }) => name !== undefined);
  const counts = `${gatewayTokens.length} in all, ${named.length} with a name, ${bound.length} for one account`;
  if (lost.length === 0) return [ok(`tokens: ${counts}`)];
  return lost.map(({ name, accountId }) =>
    warning(
      `the account ${accountId} of the gateway ${name} does not exist, so this gateway lets in no key: correct GATEWAY_TOKENS`,
    ),
  );
}

/**
 * Hostports and keys that several accounts have, from an earlier version, an import or a reservation that was deleted. It
 * leaves out hostports that one of these accounts has reserved, since only its edges are served.
 */
export async function checkClaims({ client }: Primary): Promise<readonly Finding[]> {
  if (!(await hasTable(client, 'claims')) || !(await hasTable(client, 'reserved_domains'))) return [];
  const { rows } = await client.query<SharedClaim>(SHARED_CLAIMS, [MAX_NAMED]);
  const [first] = rows;
  if (first === undefined) return [ok('no two accounts have a hostport or a key in common')];
  const left = Number(first.total) - rows.length;
  const more = left === 0 ? [] : [warning(`accounts share ${left} more hostports and keys`)];
  return [...rows.map(({ value, accounts }) => warning(sharedClaim(value, accounts))), ...more];
}

interface SharedClaim {
  readonly value: string;
  readonly accounts: readonly string[];
  readonly total: string;
}

const MAX_NAMED = 20;
const SHARED_CLAIMS = `select value, array_agg(account_id order by account_id) as accounts, count(*) over () as total
  from claims where value in (select value from claims where not exclusive)
  group by value having count(*) > 1 and not bool_or(has_reserved(account_id, value)) order by value limit $1`;

function sharedClaim(value: string, accounts: readonly string[]): string {
  const [kind, text] = [value.slice(0, value.indexOf(':')), value.slice(value.indexOf(':') + 1)];
  const names = `${accounts.slice(0, 3).join(', ')}${accounts.length > 3 ? ' and others' : ''}`;
  return kind === 'hostport'
    ? `${accounts.length} accounts have edges that list ${text} (${names}): the edge that listed it first serves it. Remove it from the edges of all but one account`
    : `${accounts.length} accounts have credentials with the key ${text} (${names}): delete the credentials of all but one account`;
}

async function accountsAmong(client: Primary['client'], gateways: Config['gatewayTokens']): Promise<Set<unknown>> {
  const { rows } = await client.query<{ id: string }>(
    'select account_id as id from accounts where account_id = any($1)',
    [gateways.map(({ accountId }) => accountId)],
  );
  return new Set(rows.map(({ id }) => id));
}

const hasAccounts = ({ client }: Pick<Primary, 'client'>): Promise<boolean> => hasTable(client, 'accounts');

export async function hasTable(client: Primary['client'], name: string): Promise<boolean> {
  return (await rowOf<{ made: boolean }>(client, `select to_regclass('${name}') is not null as made`)).made;
}
