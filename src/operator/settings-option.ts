import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { isSetting } from '../api/config/config.js';
import { parseSettingsFile } from '../api/config/settings-file.js';
import { messageOf } from '../kernel/error-message.js';
import { UsageError } from '../kernel/operator-error.js';

/** Gives a program and all its commands the option `--settings FILE`. */
export const withSettingsOption = (program: Command): Command =>
  program
    .option(
      '--settings <file>',
      'read settings from a file too, as systemd reads an EnvironmentFile; may be given several times',
      (file: string, earlier: readonly string[]) => [...earlier, file],
      [],
    )
    .configureHelp({ showGlobalOptions: true })
    .hook('preAction', () => {
      const places = new Map<string, string>();
      for (const file of program.opts<{ settings: readonly string[] }>().settings) addTo(process.env, file, places);
    });

/**
 * Refuses a setting that the environment has with another value: whichever of the two counts, a command could work on
 * another database than its caller means.
 */
function addTo(environment: NodeJS.ProcessEnv, file: string, places: Map<string, string>): void {
  for (const [name, value] of read(file)) {
    const given = environment[name] ?? '';
    if (isSetting(name) && given !== '' && given !== value) {
      const other = places.get(name) ?? 'the environment';
      throw new UsageError(`${name} is in ${other}, and in ${file} with another value: remove one of them`);
    }
    environment[name] = value;
    places.set(name, file);
  }
}

function read(file: string): ReadonlyMap<string, string> {
  try {
    return parseSettingsFile(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UsageError(`the file of --settings, ${file}, cannot be read: ${messageOf(error)}`);
  }
}
