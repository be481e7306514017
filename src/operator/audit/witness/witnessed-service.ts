import { parseJsonObject } from '../../../kernel/json-object.js';
import { Unavailable } from '../../../kernel/network/unavailable.js';
import { PROBLEMS } from '../../../kernel/problem.js';
import type { ServiceApi } from '../../http/service-api.js';

/** A longer answer is an error. No checkpoint or proof is nearly as long. */
const MAX_ANSWER_CHARACTERS = 64 * 1024;
/** This code shows that the service itself answered, and not a proxy. */
const [, NOT_FOUND] = PROBLEMS.not_found;

/** The service answers that it has no checkpoint of the log. */
export class NoCheckpoint extends Unavailable {}

/** Reads the checkpoints of a log over HTTP. The API key determines the account. */
export class WitnessedService {
  constructor(private readonly api: ServiceApi) {}

  get name(): string {
    return this.api.name;
  }

  logKey(signal?: AbortSignal): Promise<string> {
    return this.get('log/key', signal);
  }

  /** `known`: the checkpoint that the witness has kept. The service raises an alarm if its log does not continue it. */
  checkpoint(known: string | undefined, signal?: AbortSignal): Promise<string> {
    const query = known === undefined ? '' : `?${new URLSearchParams({ known })}`;
    return this.get(`log/checkpoint${query}`, signal);
  }

  /**
   * The proof that the log of size `from` is the beginning of the log of size `to`; undefined if the answer has none.
   */
  async consistency(from: number, to: number, signal: AbortSignal): Promise<Buffer[] | undefined> {
    const { proof } = parseJsonObject(await this.get(`log/consistency?from=${from}&to=${to}`, signal)) ?? {};
    if (!Array.isArray(proof)) return undefined;
    return proof.map((hash) => Buffer.from(String(hash), 'base64'));
  }

  private async get(path: string, signal?: AbortSignal): Promise<string> {
    const isEnough = (text: string): boolean => text.length > MAX_ANSWER_CHARACTERS;
    const { text, isWhole } = await this.api.get(path, { accept: '*/*', isEnough, signal }).catch((error: unknown) => {
      if (!(error instanceof Unavailable)) throw error;
      const { status, code } = error.answer ?? {};
      throw status === 404 && code === NOT_FOUND ? new NoCheckpoint(error.message, error.answer) : error;
    });
    if (!isWhole) throw new Unavailable('its answer is too long');
    return text;
  }
}
