import { hash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../kernel/error-message.js';
import { UsageError } from '../../kernel/operator-error.js';

/** All of an import. 20,000 lines with RSA keys are a quarter of it. */
const MAX_SOURCE_BYTES = 64 * 1024 * 1024;

export interface SourceFile {
  readonly name: string;
  readonly text: string;
  /** Of its bytes. Another text is another source. */
  readonly digest: string;
}

/** The files of these names, and those in a folder in the order of their names. Throws UsageError. */
export function readSources(names: readonly string[]): readonly SourceFile[] {
  let bytes = 0;
  try {
    return names.flatMap(filesIn).map((name) => {
      bytes += statSync(name).size;
      if (bytes > MAX_SOURCE_BYTES) throw new Error(`more than 64 MiB in all; split what you import`);
      const content = readFileSync(name);
      return { name, text: content.toString('utf8'), digest: hash('sha256', content, 'hex').slice(0, 32) };
    });
  } catch (error) {
    throw new UsageError(`the source cannot be read: ${messageOf(error)}`);
  }
}

function filesIn(name: string): readonly string[] {
  if (!statSync(name).isDirectory()) return [name];
  const entries = readdirSync(name, { withFileTypes: true }).filter((entry) => !entry.isDirectory());
  return entries.map((entry) => join(name, entry.name)).sort();
}
