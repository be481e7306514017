import { CloudEvents } from '../../api/audit/cloud-events.js';
import { READ_MODELS } from '../../api/read-models.js';
import type { StreamedEvent } from '../../event-log/index.js';
import { parseJsonObject } from '../../kernel/json-object.js';
import { OperatorError } from '../../kernel/operator-error.js';
import { type Patience, patiently } from '../http/patiently.js';
import type { ServiceApi } from '../http/service-api.js';

interface Page {
  readonly lines: readonly string[];
  /** The position of the last line. */
  readonly last: number;
  readonly isEnd: boolean;
}

/** An outage costs a page. */
const PAGE = { events: 1_000, characters: 4 * 1024 * 1024 };
const SHORTER = 'The log was longer a moment ago: keep what it answered then';
const HIDDEN_TYPES = new CloudEvents(READ_MODELS).hiddenTypes;

/** The log of an account over HTTP: `GET /log/export`, and the feed for what it hides. */
export class ExportedLog {
  /** The position of the last line that was given. */
  private given = 0;
  /** What the feed tells of the types that may be hidden. */
  private told = { upTo: 0, events: new Map<number, StreamedEvent>() };

  constructor(
    private readonly api: ServiceApi,
    /** The number of events that the log has at least. An answer that ends before it was cut. */
    private readonly size: number,
    private readonly patience: Patience,
  ) {}

  /** Yields the lines page by page, and asks for the next page meanwhile. */
  async *lines(): AsyncGenerator<readonly string[]> {
    let next: Promise<Page> | undefined = this.page(0);
    while (next !== undefined) {
      const { lines, last, isEnd }: Page = await next;
      this.given = last;
      next = isEnd ? undefined : this.page(last);
      // A caller that goes away never awaits this page.
      next?.catch(() => undefined);
      yield lines;
    }
  }

  /** The event that may be hidden at the position of a line that was given. Undefined if the feed has none there. */
  async hiddenAt(position: number): Promise<StreamedEvent | undefined> {
    if (position > this.told.upTo) {
      const events = (await Promise.all(HIDDEN_TYPES.map((type) => this.feed(type, position - 1)))).flat();
      this.told = { upTo: this.given, events: new Map(events.map((event) => [event.position, event])) };
    }
    return this.told.events.get(position);
  }

  private async page(after: number): Promise<Page> {
    const { lines, isWhole } = await this.ask(`log/export?after=${after}&limit=${PAGE.events}`, PAGE.characters);
    const line = lines.at(-1);
    const last = line === undefined ? after : Number(parseJsonObject(line)?.position);
    if (!(Number.isSafeInteger(last) && last >= after + lines.length)) throw this.otherThan('the log', after);
    const isShort = isWhole && lines.length < PAGE.events;
    return { lines, last, isEnd: line === undefined || (isShort && last >= this.size) };
  }

  private async feed(type: string, after: number): Promise<readonly StreamedEvent[]> {
    const { lines } = await this.ask(
      `events?type=${type}&after=${after}&as_of=${this.given}`,
      Number.POSITIVE_INFINITY,
    );
    return lines.map((line) => {
      const { logposition: position, subject: stream_id, streamversion: stream_version } = parseJsonObject(line) ?? {};
      if (typeof position !== 'number' || typeof stream_id !== 'string' || typeof stream_version !== 'number')
        throw this.otherThan('the events of a type', after);
      return { position, stream_id, stream_version, type };
    });
  }

  private ask(path: string, maxCharacters: number): ReturnType<ServiceApi['lines']> {
    return patiently(() => this.api.lines(path, { maxCharacters, afterLoss: SHORTER }), this.patience);
  }

  private otherThan(what: string, after: number): OperatorError {
    const answer = `${this.api.name} does not answer with ${what} after position ${after}`;
    return new OperatorError(`${answer}: is this the URL of the service?`);
  }
}
