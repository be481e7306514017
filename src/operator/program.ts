import { existsSync, readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { redacted } from '../api/service-log/redaction.js';
import { EXIT, exitOnUncaughtError, reportFailure } from './exit-codes.js';
import { withExitCodes } from './help.js';
import { withSettingsOption } from './settings-option.js';

/** A program of the package. Its commands must be added to it afterwards, since they take over how it ends. */
export const newProgram = (name: string): Command =>
  withSettingsOption(new Command(name).version(versionOfPackage()).exitOverride().configureOutput({ outputError }));

/** Commander repeats an argument that it refuses, which may be a URL with a password. */
const outputError = (text: string, write: (text: string) => void): void => write(redacted(text));

/** Runs a program with the arguments of this process, and sets the exit code. */
export async function runProgram(program: Command): Promise<void> {
  exitOnUncaughtError();
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader may have enough, as `head` does: that is no failure, and the command ends in good order all the same.
    if (error.code === 'EPIPE' || process.exitCode === EXIT.operator) return;
    process.exitCode = reportFailure(error);
  });
  try {
    await withExitCodes(program).parseAsync();
  } catch (error) {
    // Lost output comes first: a failed check could not print its findings.
    process.exitCode ??= error instanceof CommanderError ? exitCodeOf(error) : reportFailure(error);
  }
}

/** Commander has printed the help, or what is wrong with the command line. */
const exitCodeOf = ({ exitCode }: CommanderError): number => (exitCode === 0 ? EXIT.success : EXIT.usage);

function versionOfPackage(): string {
  const { version } = JSON.parse(readFileSync(packageFile(new URL('.', import.meta.url)), 'utf8'));
  return version;
}

/** The package.json above a folder: the compiled files lie deeper than their sources. */
function packageFile(folder: URL): URL {
  const file = new URL('package.json', folder);
  return existsSync(file) ? file : packageFile(new URL('..', folder));
}
