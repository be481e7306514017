import type { Config } from '../../api/config/config.js';
import type { KeyHistory } from '../../event-log/index.js';
import { ownKeys } from '../checkpoint-keys.js';
import { hasTable } from './account-checks.js';
import { type Finding, ok, warning, wrong } from './finding.js';
import { type Primary, rowOf } from './server-check.js';

const NOT_SIGNED =
  'CHECKPOINT_KEY is not set, so the logs are not signed, and who administers the database can change them unseen: make a key with audit key NAME (docs/evidence.md, The key), or set CHECKPOINT_KEY=off if this is meant';

/** Whether the newest checkpoint of each log is signed with a known key. */
export async function checkCheckpoints({ client, isEmbedded }: Primary, config: Config): Promise<readonly Finding[]> {
  const keys = await ownKeys(config);
  if (config.checkpointKeys === 'off') return [ok('CHECKPOINT_KEY is off: the logs are not signed')];
  if (keys === undefined) return [isEmbedded ? ok('the first start makes a key') : warning(NOT_SIGNED)];
  const names = keys.known.map(({ name }) => name).join(', ');
  const known = ok(`keys that are known: ${keys.known.length} (${names}); ${keys.signing.name} signs`);
  return [known, ...((await hasTable(client, 'log_checkpoints')) ? await unsignedLogs(client, keys) : [])];
}

/** The most logs whose newest checkpoint is checked. */
const MAX_LOGS = 1_000;
const NEWEST = `select h.account_id as account, last.size, last.note from log_heads h cross join lateral (
    select size, note from log_checkpoints c where c.account_id = h.account_id order by c.size desc limit 1) last
  order by h.account_id desc limit ${MAX_LOGS}`;

async function unsignedLogs(client: Primary['client'], keys: KeyHistory): Promise<readonly Finding[]> {
  const { rows } = await client.query<{ account: string; size: string; note: string }>(NEWEST);
  const others = rows.filter(({ account, note, size }) => keys.signedIn(note, account)?.size !== Number(size));
  const [first] = others;
  if (first === undefined) return [];
  const { account, size, note } = first;
  const name = keys.unknownNameIn(note);
  const [what, wayOut] =
    name === undefined
      ? ['has a wrong signature', 'run audit verify']
      : [`is signed by the key ${name}, which is not known`, 'add this key to CHECKPOINT_KEY, before the others'];
  const more = others.length === 1 ? '' : `; the same is true for ${others.length - 1} more logs`;
  return [
    wrong(
      `the newest checkpoint of ${account}, of ${size} events, ${what}, so this log is not signed: ${wayOut}${more}`,
    ),
  ];
}

export async function checkAlarms({ client }: Primary): Promise<readonly Finding[]> {
  if (!(await hasTable(client, 'log_alarms'))) return [];
  const { logs } = await rowOf<{ logs: number }>(
    client,
    'select count(distinct account_id)::int as logs from log_alarms where ended_at is null',
  );
  if (logs === 0) return [ok('none is open')];
  return [
    wrong(
      `open in ${logs} logs, which are not signed until the alarms end: audit alarms lists them (docs/evidence.md, After a loss)`,
    ),
  ];
}
