import type { Command } from 'commander';
import { DedicatedConnections, type MaintenanceDatabase } from '../../database/index.js';
import { endAlarms } from '../../event-log/index.js';
import { UsageError } from '../../kernel/operator-error.js';
import { withExamples } from '../help.js';
import { print, tell } from '../print.js';
import { onDatabase, READS, WRITES } from '../run-on-database.js';
import { type Columns, JSON_OPTION, type Printing, printItems } from '../table.js';

export function addAlarmsCommand(audit: Command): void {
  const alarms = audit
    .command('alarms')
    .description(
      'List the open alarms. An alarm says that a log is no longer the one that was signed. Each line on stdout holds the account, what is lost (tail, checkpoints, events or tiles), when the alarm was raised, and what was found, separated by tabs',
    )
    .option('--all', 'also list the alarms that have ended, with the time and the reason at the end of the line')
    .option(...JSON_OPTION)
    .action((options: ListOptions) => onDatabase(READS, (database) => printAlarms(database, options)));
  withExamples(alarms, 'audit alarms', 'audit alarms --all');
  const end = alarms
    .command('end')
    .description(
      'End the open alarms of an account: all instances take its log as it is, and go on signing it. A changed event, or a signed checkpoint that a client has shown and the log contradicts, is accepted for good; another fault that is still there raises a new alarm. Each ended alarm is a line on stdout. The command runs as the owner of the tables',
    )
    .argument('<account>', 'the account')
    .requiredOption('--reason <text>', 'why the alarms may end, for people who read this later: 1 to 255 bytes')
    .action(runEnd);
  withExamples(end, "audit alarms end ac_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA --reason 'restored from the backup of May 3'");
}

interface ListOptions extends Printing {
  readonly all?: true;
}

interface AlarmRow {
  readonly account_id: string;
  readonly loss: string;
  readonly raised_at: Date;
  readonly what: string;
  readonly ended_at: Date | null;
  readonly reason: string | null;
}

const COLUMNS: Columns<AlarmRow> = {
  ACCOUNT: ({ account_id }) => account_id,
  LOST: ({ loss }) => loss,
  RAISED: ({ raised_at }) => raised_at.toISOString(),
  FOUND: ({ what }) => what,
};
const ENDING: Columns<AlarmRow> = {
  ENDED: ({ ended_at }) => ended_at?.toISOString() ?? '',
  REASON: ({ reason }) => reason ?? '',
};

async function printAlarms({ pool }: Pick<MaintenanceDatabase, 'pool'>, options: ListOptions): Promise<void> {
  const all = options.all === true;
  const { rows } = await pool.query<AlarmRow>(ALARMS, [all]);
  printItems(rows, all ? { ...COLUMNS, ...ENDING } : COLUMNS, options);
  if (rows.length === 0) tell(all ? 'no alarm was ever raised' : 'no alarm is open');
}

const ALARMS = `select account_id, loss, raised_at, what, ended_at, reason from log_alarms
  where ended_at is null or $1 order by raised_at, account_id`;

const MAX_REASON_BYTES = 255;

async function runEnd(account: string, { reason }: { readonly reason: string }): Promise<void> {
  const bytes = Buffer.byteLength(reason);
  if (reason.trim() === '' || bytes > MAX_REASON_BYTES || /\p{Cc}/u.test(reason)) {
    throw new UsageError(`--reason must be a text of 1 to ${MAX_REASON_BYTES} bytes without control characters`);
  }
  await onDatabase(WRITES, ({ asOwner, interrupt }) => asOwner((pool) => endOf({ pool, interrupt }, account, reason)));
}

const endOf = (database: MaintenanceDatabase, account: string, reason: string): Promise<void> =>
  DedicatedConnections.use(database, async (connections) => {
    const client = await connections.openTransaction();
    const ended = await endAlarms(client, { accounts: [account] }, reason);
    if (ended.length === 0) throw new UsageError(`${account} has no open alarm; audit alarms lists the open alarms`);
    await connections.commit(client);
    for (const { loss, what } of ended) print([account, loss, what].join('\t'));
    tell(`${ended.length} alarms ended; the instances go on signing this log`);
  });
