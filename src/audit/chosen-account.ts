import type { Client } from 'pg';
import { Misuse } from './outcome.js';

const MOST_NAMED = 20;

/** The account that was asked for, or the only one there is, and the size of its log. Misuse names those there are. */
export async function chosenAccount(
  client: Client,
  wanted: string | undefined,
): Promise<{ account: string; size: number }> {
  const { rows } = await client.query<{ account_id: string; size: string }>(
    'select account_id, size from log_heads order by account_id = $1 desc, account_id limit $2',
    [wanted ?? '', MOST_NAMED + 1],
  );
  const [first] = rows;
  if (first !== undefined && (wanted === undefined ? rows.length === 1 : first.account_id === wanted)) {
    return { account: first.account_id, size: Number(first.size) };
  }
  const reason = wanted === undefined ? 'name an account with --account' : `there is no account ${wanted}`;
  const names = rows.slice(0, MOST_NAMED).map(({ account_id }) => account_id);
  const more = rows.length > MOST_NAMED ? ' and more (`accounts list`)' : '';
  throw new Misuse(`${reason}; there are ${names.join(', ') || 'none'}${more}`);
}
