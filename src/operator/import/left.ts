import { messageOf } from '../../kernel/error-message.js';

/** A line stays behind, since it cannot be said exactly. The message says why, and never quotes a secret of the line. */
export class Left extends Error {
  override name = 'Left';
}

/** Turns a refusal of the rules into Left, with this sentence or its own. */
export function orLeft<T>(read: () => T, sentence?: string): T {
  try {
    return read();
  } catch (error) {
    throw new Left(sentence ?? messageOf(error));
  }
}

/** A body of `POST /ssh_credentials`. */
export interface CredentialBody {
  readonly public_key: string;
  readonly acl: readonly string[];
  readonly description?: string;
  readonly metadata?: string;
  readonly owner_id?: string;
  readonly source_cidrs?: readonly string[];
  readonly expires_at?: string;
}

/** Where something stands in a source. */
export interface Place {
  readonly file: string;
  readonly line: number;
}

/** Of what may stand once, the first place counts, also if that line is left. */
export class FirstPlaces {
  private readonly places = new Map<string, Place>();

  /** Throws Left if one of these values stands at another place. */
  take(what: string, values: readonly string[], at: Place): void {
    const earlier = values.map((one) => this.places.get(one)).find((place) => place !== undefined && place !== at);
    for (const one of values) if (!this.places.has(one)) this.places.set(one, at);
    if (earlier === undefined) return;
    throw new Left(`its ${what} stands in ${earlier.file}:${earlier.line} too, and the first line counts`);
  }
}
