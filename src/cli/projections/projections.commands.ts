import type { Command } from 'commander';
import type { MaintenanceDatabase } from '../../database/dedicated-connections.js';
import type { Proof } from '../../log/prove/proof.js';
import type { AnyReadModel } from '../../log/read-model.js';
import { type RebuildWatcher, rebuild } from '../../log/rebuild/rebuild.js';
import { CheckFailed } from '../../operator-error.js';
import { READ_MODELS } from '../../read-models.js';
import { checkpointKeys } from '../audit/checkpoint-keys.js';
import { refuseUnknownAccount } from '../chosen-account.js';
import { withExamples } from '../help.js';
import { lowerPriority } from '../lower-priority.js';
import { type ProofOptions, printProof } from '../printed-proof.js';
import { progressOn } from '../progress.js';
import { onDatabase, READS, WRITES } from '../run-on-database.js';
import { Stopwatch } from '../stopwatch.js';
import { chosenModels } from './chosen-models.js';

export function addProjectionCommands(program: Command): void {
  const projections = program
    .command('projections')
    .description('Rebuild the tables that GET and LIST answer from, or compare them with the log');
  withExamples(projections, 'projections prove', 'projections rebuild');
  addRebuildCommand(projections);
  addProveCommand(projections);
}

const NAME = ['--name <table>', 'only the read model that this table belongs to (default: all)'] as const;

function addRebuildCommand(projections: Command): void {
  const command = projections
    .command('rebuild')
    .description(
      'Rebuild the tables of all accounts from the log while the service runs. It may be interrupted and repeated at any time',
    )
    .option(...NAME)
    .action(({ name }: { name?: string }) => {
      const rebuilt = chosenModels(READ_MODELS, name);
      return onDatabase(WRITES, ({ asOwner, interrupt }) =>
        asOwner((dataSource) => runRebuild({ dataSource, interrupt }, rebuilt)),
      );
    });
  withExamples(command, 'projections rebuild', 'projections rebuild --name ssh_credentials');
}

function addProveCommand(projections: Command): void {
  const command = projections
    .command('prove')
    .description(
      'Check the logs as audit verify does, and compare the tables with them, as of one moment. Each fault of a log is a line on stdout as audit verify prints it, and each difference one with the table, account, key, field, value in the table and value by the log, separated by tabs',
    )
    .option('--account <id>', 'only this account (default: all)')
    .option(
      NAME[0],
      'compare only the read model that this table belongs to (default: all); the logs are checked all the same',
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
    'projections prove --digest | sha256sum',
  );
}

async function runRebuild(database: MaintenanceDatabase, rebuilt: readonly AnyReadModel[]): Promise<void> {
  lowerPriority();
  const report = new RebuildReport();
  await rebuild(database, { all: READ_MODELS, rebuilt }, report);
  const tables = rebuilt.flatMap((model) => model.tables.map((table) => table.name)).join(', ');
  console.error(`rebuilt ${tables} from ${report.end()}`);
}

/** Shows how far a rebuild is, and sums up what it did. */
class RebuildReport implements RebuildWatcher {
  private readonly progress = progressOn(process.stderr);
  private readonly took = new Stopwatch();
  private count = 0;
  private longestPauseMs = 0;

  step(tables: string, what: string, about?: number): void {
    this.took.begin(what);
    this.progress.begin(`${tables}: ${what}`, 'events', about, 'estimate');
  }

  events(count: number): void {
    this.progress.add(count);
  }

  swapped(_tables: string, pauseMs: number, events: number): void {
    this.count += events;
    this.longestPauseMs = Math.max(this.longestPauseMs, pauseMs);
  }

  waiting(tables: string, attempt: number): void {
    this.progress.begin(`${tables}: a long transaction holds the table, next try (${attempt})`, 'events');
  }

  end(): string {
    this.progress.begin('rebuild', 'events', this.count);
    this.progress.add(this.count);
    this.progress.done();
    const { total } = this.took;
    const pause = `no query waited for a table for longer than ${Math.ceil(this.longestPauseMs)} ms`;
    return `${this.count} events in ${total} s, ${this.took.of('fill')} s of it to read and fold them; ${pause}`;
  }
}

type ChosenProof = Pick<ProofOptions, 'account' | 'digest'> & { readonly name?: string };

async function runProof(
  database: MaintenanceDatabase,
  proven: readonly AnyReadModel[],
  options: ChosenProof,
): Promise<void> {
  await refuseUnknownAccount(database, READ_MODELS, options.account);
  const keys = await checkpointKeys([]);
  keys.tellIfNone();
  lowerPriority();
  const took = new Stopwatch();
  const proof = await printProof(database, proven, { ...options, keysOf: keys.of }, progressOn(process.stderr));
  console.error(summaryOf(proof, took.total));
  if (proof.differences > 0) throw new CheckFailed();
}

const summaryOf = ({ rows, events, differences, comparedMs }: Proof, took: string): string => {
  const comparing = `${(comparedMs / 1000).toFixed(1)} s of it to fold and compare them`;
  const compared = `${rows} rows compared with ${events} events in ${took} s, ${comparing}`;
  return differences === 0 ? `${compared}: they agree` : `${compared}: ${differences} differences`;
};
