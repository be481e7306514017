import { parseJsonObject } from '../../../kernel/json-object.js';
import { OperatorError } from '../../../kernel/operator-error.js';
import type { ServiceApi } from '../../http/service-api.js';

/** A batch ends soon after this many characters, so that a collector with a limit of a megabyte accepts it. */
const MAX_BATCH_CHARACTERS = 512 * 1024;
const SOURCE = /^\/accounts\/(ac_\w+)$/;

export interface LogEvent {
  readonly account: string;
  readonly position: number;
  readonly eventId: string;
}

/** Consecutive events of an account in one request. */
export interface Batch {
  /** The same whenever the same events are sent again. Other events never have it, even after a restore. */
  readonly id: string;
  /** The name of the batch in messages. */
  readonly name: string;
  /** A JSON array of CloudEvents, byte for byte as the service shows them. */
  readonly body: string;
  readonly last: LogEvent;
  /** Whether the log had no further event. */
  readonly isEnd: boolean;
}

/** Reads the log of an account from `GET /events`, in lines: only a line keeps the exact bytes of an event. */
export class EventFeed {
  constructor(private readonly api: ServiceApi) {}

  get service(): string {
    return this.api.name;
  }

  /**
   * The events after a position; undefined if there are none yet. Rejects with OperatorError if the log ends before
   * that position, or if the first event cannot be read.
   */
  async batchAfter(position: number, maxEvents: number, signal: AbortSignal): Promise<Batch | undefined> {
    const query = new URLSearchParams({ after: String(position), limit: String(maxEvents) });
    const wanted = { maxCharacters: MAX_BATCH_CHARACTERS, afterLoss: COMMON_BEGINNING, signal };
    const { lines, isWhole } = await this.api.lines(`events?${query}`, wanted);
    const problem = problemIn(lines.at(-1));
    // An event that cannot be read ends the answer. The events before it are sent first.
    if (problem !== undefined) lines.pop();
    if (lines.length === 0 && problem !== undefined) throw new OperatorError(`${this.service}: ${problem}`);
    if (lines.length === 0) return undefined;
    const last = lastOf(lines, position);
    if (last === undefined) {
      const what = `does not answer with the events after position ${position}`;
      throw new OperatorError(`${this.service} ${what}: is this the URL of the service?`);
    }
    return { ...batchOf(lines, last), isEnd: isWhole && problem === undefined && lines.length < maxEvents };
  }
}

/** What to do if the service has another log than the collector. */
export const COMMON_BEGINNING =
  'Find the last position that the collector and the log have in common, and begin after it: --after POSITION with a new --cursor';

/** The message of a line that holds a problem and not an event. */
function problemIn(line = ''): string | undefined {
  const { error_code, msg } = parseJsonObject(line) ?? {};
  return error_code === undefined ? undefined : String(msg);
}

/** The last event of the lines. Undefined unless they are the events after this position, without a gap. */
function lastOf(lines: readonly string[], after: number): LogEvent | undefined {
  const { source, logposition, id } = parseJsonObject(lines.at(-1) ?? '') ?? {};
  const [, account] = SOURCE.exec(String(source)) ?? [];
  const position = after + lines.length;
  if (account === undefined || logposition !== position || typeof id !== 'string') return undefined;
  return { account, position, eventId: id };
}

function batchOf(lines: readonly string[], last: LogEvent): Omit<Batch, 'isEnd'> {
  const { account, position, eventId } = last;
  const first = position - lines.length + 1;
  // After a restore other events get the same positions, so the id of the batch has the id of its last event.
  const id = `${account}_${first}-${position}_${eventId}`;
  return { id, name: `events ${first} to ${position}`, body: `[${lines.join(',')}]`, last };
}
