import { hash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../kernel/error-message.js';
import { fingerprintOf } from '../../kernel/fingerprint.js';
import { UsageError } from '../../kernel/operator-error.js';
import { parsePublicKey } from '../../rules/index.js';
import { type CredentialBody, FirstPlaces, Left, orLeft } from './left.js';
import { type ImportOptions, importAll, type Line, owned } from './report.js';

/** All of an import. 20,000 lines with RSA keys are a quarter of it. */
const MAX_SOURCE_BYTES = 64 * 1024 * 1024;
const MAX_LINE_BYTES = 65_536;

interface SourceFile {
  readonly file: string;
  readonly text: string;
  /** Of its bytes. Another text is another source. */
  readonly digest: string;
}

/** Imports files of which each line may become a credential. */
export async function importLines(
  name: string,
  options: ImportOptions,
  readLine: (line: string, options: ImportOptions) => CredentialBody,
): Promise<void> {
  const first = new FirstPlaces();
  const lines = readSources([name]).flatMap(({ file, text, digest }) =>
    text.split('\n').flatMap((raw, n): readonly Line[] => {
      const [line, at] = [raw.replace(/^[ \t]+|\r$/g, ''), { file, line: n + 1 }];
      if (line === '' || line.startsWith('#')) return [];
      const read = () => {
        first.take('key', fingerprintsIn(line), at);
        if (Buffer.byteLength(line) > MAX_LINE_BYTES) throw new Left('the line has more than 64 KiB');
        const credential = owned(readLine(line, options), options);
        // A line of JSON may spell its key in another form.
        const { fingerprint } = orLeft(() => parsePublicKey(credential.public_key));
        first.take('key', [fingerprint], at);
        return { digest, credential, fingerprint };
      };
      return [{ ...at, read }];
    }),
  );
  await importAll(lines, options);
}

/** Whatever looks like a key, since a line that is not understood may be one for sshd, which skips these characters. */
const fingerprintsIn = (line: string): readonly string[] =>
  [...line.replaceAll(/[\v\f\r]/g, '').matchAll(/AAAA[A-Za-z0-9+/]+/g)].map(([key]) =>
    fingerprintOf(Buffer.from(key, 'base64')),
  );

/** The files of these names, and those in a folder in the order of their names. Throws UsageError. */
export function readSources(names: readonly string[]): readonly SourceFile[] {
  let bytes = 0;
  try {
    return names.flatMap(filesIn).map((file) => {
      bytes += statSync(file).size;
      if (bytes > MAX_SOURCE_BYTES) throw new Error('more than 64 MiB in all; split what you import');
      const content = readFileSync(file);
      return { file, text: content.toString('utf8'), digest: hash('sha256', content, 'hex').slice(0, 32) };
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
