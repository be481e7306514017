import { fingerprintOf } from '../../kernel/fingerprint.js';
import { parsePublicKey } from '../../rules/index.js';
import { type CredentialBody, Left, type Permitted } from './left.js';
import { type ImportOptions, importAll, type Read, type Source } from './report.js';
import { readSources } from './source-files.js';

const MAX_LINE_BYTES = 65_536;

type ReadLine = (line: string, permitted: Permitted) => CredentialBody;

/** Imports files of which each line may become a credential. */
export async function importLines(names: readonly string[], options: ImportOptions, readLine: ReadLine): Promise<void> {
  const { allowEverything: everything = false, timezone: zone } = options;
  const keys = new SeenKeys();
  const source = readSources(names).flatMap(({ name: file, text, digest }) =>
    text.split('\n').flatMap((raw, n): readonly Source[] => {
      const [line, at] = [raw.replace(/^[ \t]+|\r$/g, ''), { file, line: n + 1 }];
      if (line === '' || line.startsWith('#')) return [];
      return [
        orReported(at, () => {
          keys.refuseSecond(fingerprintsIn(line), at);
          if (Buffer.byteLength(line) > MAX_LINE_BYTES) throw new Left('the line has more than 64 KiB');
          const credential = owned(readLine(line, { everything, zone }), options);
          // A line of JSON may spell its key in another form.
          const { fingerprint } = parsePublicKey(credential.public_key);
          keys.refuseSecond([fingerprint], at);
          return { ...at, digest, credential, fingerprint };
        }),
      ];
    }),
  );
  await importAll(source, options);
}

export const owned = (body: CredentialBody, { owner }: ImportOptions): CredentialBody =>
  owner === undefined ? body : { ...body, owner_id: owner };

export interface Place {
  readonly file: string;
  readonly line: number;
}

export function orReported(at: Place, read: () => Read): Source {
  try {
    return read();
  } catch (error) {
    if (error instanceof Left) return { ...at, outcome: 'left', what: error.message };
    throw error;
  }
}

/** sshd takes the first line of a key. A later one could permit more, even where the first cannot be said. */
export class SeenKeys {
  private readonly places = new Map<string, Place>();

  refuseSecond(fingerprints: readonly string[], at: Place): void {
    const earlier = fingerprints
      .map((one) => this.places.get(one))
      .find((place) => place !== undefined && place !== at);
    for (const one of fingerprints) if (!this.places.has(one)) this.places.set(one, at);
    if (earlier === undefined) return;
    throw new Left(`its key stands in ${earlier.file}:${earlier.line} too, and the first line of a key counts`);
  }
}

/** Whatever looks like a key, since a line that is not understood may be one for sshd, which skips these characters. */
const fingerprintsIn = (line: string): readonly string[] =>
  [...line.replaceAll(/[\v\f\r]/g, '').matchAll(/AAAA[A-Za-z0-9+/]+/g)].map(([key]) =>
    fingerprintOf(Buffer.from(key, 'base64')),
  );
