#!/usr/bin/env node
import 'reflect-metadata';
import { Command, CommanderError } from 'commander';
import { addAccountCommands } from './accounts.commands.js';
import { addApiKeyCommands } from './api-keys.commands.js';
import { addAuditCommands } from './audit/audit.commands.js';
import { addBackupCommand } from './backup/backup.command.js';
import { addDataCommand } from './backup/data.command.js';
import { addRestoreCommand } from './backup/restore.command.js';
import { addDoctorCommand } from './doctor/doctor.command.js';
import { EXIT, exitOnUncaughtError, reportFailure } from './exit-codes.js';
import { withExamples, withExitCodes } from './help.js';
import { addProjectionCommands } from './projections.commands.js';

exitOnUncaughtError();

const program = new Command('tunnel-access')
  .description(
    'Commands for the operator. They take their settings from the same environment variables as the service, and can run beside it.',
  )
  .exitOverride();
withExitCodes(withExamples(program, 'audit tail -f', 'audit export --help'));
addAccountCommands(program);
addApiKeyCommands(program);
addAuditCommands(program);
addProjectionCommands(program);
addBackupCommand(program);
addRestoreCommand(program);
addDataCommand(program);
addDoctorCommand(program);

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader may have enough, as `head` does: that is no failure, and the command ends in good order all the same.
  if (error.code === 'EPIPE' || process.exitCode === EXIT.operator) return;
  process.exitCode = reportFailure(error);
});

/** Commander has printed the help, or what is wrong with the command line. */
const exitCodeOf = ({ exitCode }: CommanderError): number => (exitCode === 0 ? EXIT.success : EXIT.usage);

try {
  await program.parseAsync();
} catch (error) {
  // Lost output comes first: a failed check could not print its findings.
  process.exitCode ??= error instanceof CommanderError ? exitCodeOf(error) : reportFailure(error);
}
