import type { Command } from 'commander';
import type { Config } from '../../api/config/config.js';
import { messageOf } from '../../kernel/error-message.js';
import { CheckFailed } from '../../kernel/operator-error.js';
import { withExamples } from '../help.js';
import { print } from '../print.js';
import { JSON_OPTION, type Printing } from '../table.js';
import { DATABASE_CHECKS } from './database-checks.js';
import { type Finding, lineOf, wrong } from './finding.js';
import { checkIssuer } from './issuer-check.js';
import { checkPorts } from './port-check.js';
import { findServer } from './server-check.js';
import { checkSettings } from './settings-check.js';

export function doctorCommand(command: Command): void {
  withExamples(command.option(...JSON_OPTION).action(runDoctor), 'doctor');
}

/** The settings that say where the database is. */
const PLACES = ['DATABASE_URL', 'DATA_DIR'];

async function runDoctor(options: Printing): Promise<void> {
  const report = new Report(options);
  const { findings, config, broken } = checkSettings(process.env);
  report.add('settings', findings);
  // Without these settings it would check another database than the one of the service.
  if (!broken.some((name) => PLACES.includes(name))) await checkDatabase(report, config);
  await report.run('issuer', () => checkIssuer(config));
  await report.run('port', () => checkPorts(config));
  if (report.hasWrong) throw new CheckFailed();
}

async function checkDatabase(report: Report, config: Config): Promise<void> {
  const server = await report.run('database', () => findServer(config));
  if (server === undefined) return;
  try {
    report.add('database', server.findings);
    const { primary } = server;
    if (primary === undefined) return;
    for (const [name, check] of Object.entries(DATABASE_CHECKS)) {
      await report.run(name, () => check(primary, config));
    }
  } finally {
    await server.close();
  }
}

/** Prints each finding as soon as it is known, so that a user sees which check is slow. */
class Report {
  hasWrong = false;

  constructor(private readonly options: Printing) {}

  add(check: string, findings: readonly Finding[]): void {
    for (const finding of findings) {
      print(this.options.json === true ? JSON.stringify({ check, ...finding }) : lineOf(check, finding));
      this.hasWrong ||= finding.level === 'wrong';
    }
  }

  /** Runs a check. If the check itself fails, that is a finding too. */
  async run<T>(check: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work();
      if (Array.isArray(result)) this.add(check, result);
      return result;
    } catch (error) {
      this.add(check, [wrong(`the check failed: ${messageOf(error)}`)]);
      return undefined;
    }
  }
}
