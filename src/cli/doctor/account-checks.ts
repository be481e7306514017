import { findOldestAccount } from '../../access/accounts/create-account.js';
import { bootstrapKeyOf, type Config } from '../../config.js';
import { type Finding, ok, warning } from './finding.js';
import { type Primary, rowOf } from './server-check.js';

/** What the settings say about accounts, against those that exist. */

export async function checkFirstKey({ client }: Primary, config: Config): Promise<readonly Finding[]> {
  const account = (await hasAccounts({ client })) ? await findOldestAccount(client) : undefined;
  if (account === undefined) return [ok('the first start makes an account, and its key')];
  const setting = config.bootstrapApiKeyFile === undefined ? 'BOOTSTRAP_API_KEY' : 'BOOTSTRAP_API_KEY_FILE';
  const isSet = bootstrapKeyOf(config) !== undefined;
  if (!account.hasHadKey) {
    return isSet
      ? [ok(`the first account has never had a key: the next start gives it that of ${setting}`)]
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
  if (gatewayTokens.length === 0) return [ok('GATEWAY_TOKENS is not set: the routes for gateways do not exist')];
  const bound = gatewayTokens.filter(({ accountId }) => accountId !== undefined);
  const known = (await hasAccounts({ client })) ? await accountsAmong(client, bound) : new Set();
  const lost = bound.filter(({ accountId }) => !known.has(accountId));
  const named = gatewayTokens.filter(({ name }) => name !== undefined);
  const counts = `${gatewayTokens.length} in all, ${named.length} with a name, ${bound.length} for one account`;
  if (lost.length === 0) return [ok(`tokens: ${counts}`)];
  return lost.map(({ name, accountId }) =>
    warning(
      `the account ${accountId} of the gateway ${name} does not exist, so it knows no key: correct GATEWAY_TOKENS`,
    ),
  );
}

async function accountsAmong(client: Primary['client'], gateways: Config['gatewayTokens']): Promise<Set<unknown>> {
  const { rows } = await client.query<{ id: string }>(
    'select account_id as id from accounts where account_id = any($1)',
    [gateways.map(({ accountId }) => accountId)],
  );
  return new Set(rows.map(({ id }) => id));
}

async function hasAccounts({ client }: Pick<Primary, 'client'>): Promise<boolean> {
  return (await rowOf<{ made: boolean }>(client, `select to_regclass('accounts') is not null as made`)).made;
}
