import { readFileSync } from 'node:fs';
import { isSetting } from '../api/config/config.js';
import { parseSettingsFile } from '../api/config/settings-file.js';
import { messageOf } from '../kernel/error-message.js';
import { UsageError } from '../kernel/operator-error.js';
import { fileArgument } from './file-argument.js';

/** Adds the settings of files to an environment. */
export function addSettings(environment: NodeJS.ProcessEnv, files: readonly string[]): void {
  const places = new Map<string, string>();
  for (const file of files) addTo(environment, file, places);
}

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
    return parseSettingsFile(readFileSync(fileArgument(file), 'utf8'));
  } catch (error) {
    throw new UsageError(`the file of --settings, ${file}, cannot be read: ${messageOf(error)}`);
  }
}
