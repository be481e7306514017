import { messageOf } from '../../../error-message.js';
import { parseJsonObject } from '../../../json-object.js';
import { OperatorError } from '../../../operator-error.js';
import { PROBLEMS } from '../../../problem.js';

const MAX_ANSWER_MS = 30_000;
/** No checkpoint or proof comes near it. */
const MAX_ANSWER_CHARACTERS = 64 * 1024;
const MAX_QUOTED_CHARACTERS = 200;
/** The service itself says so, and not a proxy. */
const [, NOT_FOUND] = PROBLEMS.not_found;

/** The service gives no answer now. It may give one later. */
export class Unavailable extends Error {
  override name = 'Unavailable';
}

/** It answers, and has no checkpoint of the log. */
export class NoCheckpoint extends Unavailable {}

/** The service as its clients see it: the checkpoints of the log of the account that the API key belongs to. */
export class WitnessedService {
  constructor(
    private readonly url: URL,
    private readonly apiKey: string,
  ) {}

  /** Its address without a query. */
  get name(): string {
    return `${this.url.origin}${this.url.pathname}`.replace(/\/$/, '');
  }

  logKey(signal: AbortSignal): Promise<string> {
    return this.get('log/key', signal);
  }

  /** `known`: the checkpoint that the witness has kept. A service whose log is not its continuation raises its alarm. */
  checkpoint(known: string | undefined, signal: AbortSignal): Promise<string> {
    const query = known === undefined ? '' : `?${new URLSearchParams({ known })}`;
    return this.get(`log/checkpoint${query}`, signal);
  }

  /** The proof that the log of the first size is the beginning of that of the second; undefined if the answer has none. */
  async consistency(from: number, to: number, signal: AbortSignal): Promise<Buffer[] | undefined> {
    const { proof } = parseJsonObject(await this.get(`log/consistency?from=${from}&to=${to}`, signal)) ?? {};
    if (!Array.isArray(proof)) return undefined;
    return proof.map((hash) => Buffer.from(String(hash), 'base64'));
  }

  private async get(path: string, signal: AbortSignal): Promise<string> {
    const { status, text } = await this.send(path, signal);
    if (status === 200) return text;
    const { msg, error_code } = parseJsonObject(text) ?? {};
    const said = msg ?? text.slice(0, MAX_QUOTED_CHARACTERS).trim();
    const reason = `it answers ${status} ${JSON.stringify(said)}`;
    if (status === 401 || status === 403) throw new OperatorError(`${this.name}: ${reason}; check the API key`);
    if (status < 400) throw new OperatorError(`${this.name}: ${reason}; is this the URL of the service?`);
    throw status === 404 && error_code === NOT_FOUND ? new NoCheckpoint(reason) : new Unavailable(reason);
  }

  private async send(path: string, signal: AbortSignal): Promise<{ status: number; text: string }> {
    try {
      const response = await fetch(new URL(path, `${this.name}/`), {
        // A redirect could lead to a host that the operator does not know.
        redirect: 'manual',
        headers: { authorization: `Bearer ${this.apiKey}`, 'user-agent': 'tunnel-access' },
        signal: AbortSignal.any([signal, AbortSignal.timeout(MAX_ANSWER_MS)]),
      });
      return { status: response.status, text: await textOf(response) };
    } catch (error) {
      // The message of `fetch` is "fetch failed"; its cause holds the reason.
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      throw new Unavailable(messageOf(cause));
    }
  }
}

async function textOf({ body }: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_ANSWER_CHARACTERS) throw new Error('its answer is too long');
  }
  return text;
}
