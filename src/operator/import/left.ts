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

/** What a line may become. */
export interface Permitted {
  /** Whether a line that permits everything is taken. */
  readonly everything: boolean;
  /** The zone of times without one. Undefined: such a line is left. */
  readonly zone: Intl.DateTimeFormat | undefined;
}
