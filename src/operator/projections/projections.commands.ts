import type { Command } from 'commander';
import { READ_MODELS } from '../../api/read-models.js';
import type { MaintenanceDatabase } from '../../database/index.js';
import { type AnyReadModel, type Proof, type Repaired, repair } from '../../event-log/index.js';
import { CheckFailed } from '../../kernel/operator-error.js';
import { appended } from '../appended-option.js';
import { checkpointKeys } from '../checkpoint-keys.js';
import { refuseUnknownAccount, refuseUnknownStream } from '../chosen-account.js';
import { withExamples } from '../help.js';
import { lowerPriority } from '../lower-priority.js';
import { print } from '../print.js';
import { differenceLine, type ProofOptions, printProof } from '../printed-proof.js';
import { progressOn } from '../progress.js';
import { onDatabase, READS, WRITES } from '../run-on-database.js';
import { Stopwatch } from '../stopwatch.js';
import { chosenModels } from './chosen-models.js';

export function projectionsCommands(projections: Command): void {
  withExamples(projections, 'projections prove', 'projections repair');
  addProveCommand(projections);
  addRepairCommand(projections);
  addRebuildCommand(projections);
}

const ACCOUNT = ['--account <id>', 'only this account (default: all)'] as const;
const ID = '--id <id>';

function addProveCommand(projections: Command): void {
  const command = projections
    .command('prove')
    .description(
      'Check the logs as audit verify does, and compare the tables with them, as of one moment. Each fault of a log is a line on stdout, as audit verify prints it. Each difference is a line with the table, account, key, field, value in the table and value by the log, separated by tabs',
    )
    .option(...ACCOUNT)
    .option(
      '--name <table>',
      'compare only the read model that this table belongs to (default: all); the logs are checked all the same',
    )
    .option(
      ID,
      'compare only the rows of this resource, and not the claims (default: all); the logs are checked all the same',
    )
    .option(
      '--key <key>',
      'a public key of the service, or a file that holds one, if it signed checkpoints and is not in CHECKPOINT_KEY (as GET /log/key answered it for any account); may be repeated, oldest first',
      appended,
      [],
    )
    .option(
      '--digest',
      'also print a digest of each table, which is the same on every server with the same log: a line with the table, account, size of the log and SHA-256 of the rows, separated by tabs',
    )
    .action(({ name, ...options }: ChosenProof) => {
      const proven = chosenModels(READ_MODELS, name);
      return onDatabase(READS, (database) => runProof(database, proven, options));
    });
  withExamples(
    command,
    'projections prove',
    'projections prove --name tcp_edges',
    'projections prove --key old-log-key',
    'projections prove --digest | sha256sum',
  );
}

function addRepairCommand(projections: Command): void {
  const command = repairCommand(projections.command('repair')).description(
    'Compare the tables with the log as prove does, but do not check the logs, and replace each row that differs, while the service runs. Each difference is a line on stdout, as prove prints it. The command may be interrupted and repeated at any time',
  );
  withExamples(command, 'projections repair', 'projections repair --name ssh_credentials');
}

/** The name of `repair` before 1.0. */
function addRebuildCommand(projections: Command): void {
  const command = repairCommand(projections.command('rebuild', { hidden: true }))
    .description('The former name of projections repair')
    .hook('preAction', () =>
      console.error('projections rebuild is now called projections repair; the next release knows the new name only'),
    );
  withExamples(command, 'projections rebuild');
}

const repairCommand = (command: Command): Command =>
  command
    .option(...ACCOUNT)
    .option('--name <table>', 'only the read model that this table belongs to (default: all)')
    .option(ID, 'only the rows of this resource, and not the claims (default: all)')
    .action(({ name, ...options }: ChosenRows) => {
      const models = chosenModels(READ_MODELS, name);
      return onDatabase(WRITES, ({ asOwner, interrupt }) =>
        asOwner((pool) => runRepair({ pool, interrupt }, models, options)),
      );
    });

type ChosenRows = Pick<ProofOptions, 'account' | 'id'> & { readonly name?: string };
type ChosenProof = ChosenRows & Pick<ProofOptions, 'digest'> & { readonly key: readonly string[] };

async function refuseUnknown(
  database: MaintenanceDatabase,
  models: readonly AnyReadModel[],
  { account, id }: ChosenRows,
): Promise<void> {
  await refuseUnknownAccount(database, READ_MODELS, account);
  await refuseUnknownStream(database, models, id);
}

async function runRepair(
  database: MaintenanceDatabase,
  models: readonly AnyReadModel[],
  { account, id }: ChosenRows,
): Promise<void> {
  await refuseUnknown(database, models, { account, id });
  lowerPriority();
  const took = new Stopwatch();
  const progress = progressOn(process.stderr);
  const repaired = await repair(
    database,
    { models, account, id },
    {
      begin: (events) => progress.begin('repair', 'events', events, 'estimate'),
      events: (count) => progress.add(count),
      difference: (difference) => print(differenceLine(difference)),
    },
  );
  progress.done();
  console.error(repairSummary(repaired, took.total));
}

function repairSummary({ rows, events, differences, removed, written, longestHeldMs }: Repaired, took: string): string {
  const compared = `${rows} rows compared with ${events} events in ${took} s`;
  if (differences === 0) return `${compared}: they agree, and nothing was written`;
  const corrected = `${differences} differences, ${removed} rows removed and ${written} written`;
  return `${compared}: ${corrected}; no writer waited for longer than ${Math.ceil(longestHeldMs)} ms`;
}

async function runProof(
  database: MaintenanceDatabase,
  proven: readonly AnyReadModel[],
  { key, ...options }: ChosenProof,
): Promise<void> {
  await refuseUnknown(database, proven, options);
  const keys = await checkpointKeys(key);
  keys.tellIfNone();
  lowerPriority();
  const took = new Stopwatch();
  const proof = await printProof(database, proven, { ...options, keys }, progressOn(process.stderr));
  console.error(summaryOf(proof, took.total));
  if (proof.differences > 0) throw new CheckFailed();
}

const summaryOf = ({ rows, events, differences, comparedMs }: Proof, took: string): string => {
  const comparing = `${(comparedMs / 1000).toFixed(1)} s of it to fold and compare them`;
  const compared = `${rows} rows compared with ${events} events in ${took} s, ${comparing}`;
  return differences === 0 ? `${compared}: they agree` : `${compared}: ${differences} differences`;
};
