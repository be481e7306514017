import { existsSync, readFileSync } from 'node:fs';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { quotable, redacted } from '../api/service-log/redaction.js';
import { EXIT, exitOnUncaughtError, isOfOperator, reportFailure } from './exit-codes.js';
import { fileArgument } from './file-argument.js';
import { withExitCodes } from './help.js';
import { visibleLines } from './print.js';
import { withSettingsOption } from './settings-option.js';

/** A program of this package. Add its commands afterwards, since a command copies these settings when it is added. */
export const newProgram = (name: string): Command =>
  withSettingsOption(
    new Command(name).version(versionOfPackage()).exitOverride().configureOutput({ outputError }),
  ).hook('preAction', (_, command) => resolveFiles(command));

const NAMES_FILE = /^(file|folder|export)$/;

/** Options and arguments that name a file mean one where the user stands. */
function resolveFiles(command: Command): void {
  for (const option of command.options) {
    const name = option.attributeName();
    const value: unknown = command.getOptionValue(name);
    const [, placeholder = ''] = /<(\w+)>/.exec(option.flags) ?? [];
    if (!NAMES_FILE.test(placeholder)) continue;
    if (typeof value === 'string') command.setOptionValue(name, fileArgument(value));
    if (Array.isArray(value)) command.setOptionValue(name, value.map(String).map(fileArgument));
  }
  command.registeredArguments.forEach((argument, n) => {
    const value: unknown = command.processedArgs[n];
    if (!NAMES_FILE.test(argument.name())) return;
    if (typeof value === 'string') command.processedArgs[n] = fileArgument(value);
    if (Array.isArray(value)) command.processedArgs[n] = value.map(String).map(fileArgument);
  });
}

/** Hides secrets: Commander repeats a refused argument, which may be a malformed URL with a password or a token. */
const outputError = (text: string, write: (text: string) => void): void =>
  write(redacted(text).replace(/(?<=(?:value|argument) ').*(?=' is invalid)/s, quotable));

/** Runs a program with the arguments of this process, and sets the exit code. */
export async function runProgram(program: Command): Promise<void> {
  exitOnUncaughtError();
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader may take only the beginning, as `head` does. That is not a failure, and the command still ends normally.
    if (error.code === 'EPIPE' || process.exitCode === EXIT.operator) return;
    process.exitCode = reportFailure(error);
  });
  try {
    await withExitCodes(program).parseAsync();
  } catch (error) {
    // A failed write to stdout keeps its code, since a check then could not print what it found.
    process.exitCode ??= error instanceof CommanderError ? exitCodeOf(error) : await report(error);
  }
}

async function report(error: unknown): Promise<number> {
  if (isOfOperator(error)) return reportFailure(error);
  // Imported late, since pg takes longer than the whole work of most commands.
  const { outageOf } = await import('./database-outage.js');
  return reportFailure(error, outageOf);
}

/** Commander itself has printed the help, or the fault in the command line, but not what an action throws. */
function exitCodeOf(error: CommanderError): number {
  if (error instanceof InvalidArgumentError) console.error(visibleLines(error.message));
  return error.exitCode === 0 ? EXIT.success : EXIT.usage;
}

function versionOfPackage(): string {
  const { version } = JSON.parse(readFileSync(packageFile(new URL('.', import.meta.url)), 'utf8'));
  return version;
}

/** The package.json above a folder: the compiled files lie deeper than their sources. */
function packageFile(folder: URL): URL {
  const file = new URL('package.json', folder);
  return existsSync(file) ? file : packageFile(new URL('..', folder));
}
