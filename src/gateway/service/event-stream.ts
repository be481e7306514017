import type { IncomingMessage } from 'node:http';
import { messageOf } from '../../error-message.js';
import { ServiceUnavailable } from './service-unavailable.js';

/** Events that a later version of the service may send are passed over. */
export interface ServiceEvent {
  readonly name: 'ready' | 'changed';
  /** What has changed. */
  readonly data: unknown;
}

/** The service says something every 5 s. */
const MAX_SILENCE_MS = 15_000;

/** Reads Server-Sent Events, and gives up after a long silence. */
export class EventStream {
  private readonly ending = new AbortController();
  private timer = this.newTimer();
  private readonly end = (): void => this.ending.abort(this.stopped.reason);

  /** Not AbortSignal.any, whose signals Node 20 can collect while a request waits for them. */
  constructor(private readonly stopped: AbortSignal) {
    stopped.addEventListener('abort', this.end);
    if (stopped.aborted) this.end();
  }

  /** For the request whose answer is the stream. */
  get signal(): AbortSignal {
    return this.ending.signal;
  }

  async *eventsOf(response: IncomingMessage): AsyncGenerator<ServiceEvent> {
    try {
      if (response.statusCode !== 200) throw new Error(`HTTP ${response.statusCode}`);
      yield* eventsIn(response, () => this.heard());
    } catch (error) {
      throw new ServiceUnavailable(`the stream of changes broke: ${messageOf(error)}`, response.statusCode);
    }
  }

  close(): void {
    clearTimeout(this.timer);
    this.stopped.removeEventListener('abort', this.end);
  }

  private heard(): void {
    clearTimeout(this.timer);
    this.timer = this.newTimer();
  }

  private newTimer(): NodeJS.Timeout {
    const giveUp = (): void => this.ending.abort(new Error(`it was silent for ${MAX_SILENCE_MS} ms`));
    return setTimeout(giveUp, MAX_SILENCE_MS).unref();
  }
}

/** The events of an answer as they come. `heard` is told of everything that comes. Throws if one was lost on the way. */
export async function* eventsIn(answer: IncomingMessage, heard: () => void): AsyncGenerator<ServiceEvent> {
  let text = '';
  let last: number | undefined;
  for await (const part of answer.setEncoding('utf8')) {
    heard();
    const blocks = `${text}${part}`.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const { id, isEvent, event } = readBlock(block);
      const expected = last === undefined || !isEvent ? last : last + 1;
      if (expected !== undefined && id !== undefined && id !== expected) {
        throw new Error(`event ${expected} was lost: the next number was ${id}`);
      }
      last = id ?? last;
      if (event !== undefined) yield event;
    }
  }
}

interface Block {
  /** A service of before numbers nothing. */
  readonly id: number | undefined;
  /** A heartbeat is none, and has the number of the last event. */
  readonly isEvent: boolean;
  /** Undefined for an event of a later version. */
  readonly event: ServiceEvent | undefined;
}

function readBlock(block: string): Block {
  const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line] as const));
  const textOf = (field: string): string | undefined => fields.get(field)?.slice(field.length + 2);
  const [id, name] = [textOf('id'), textOf('event')];
  const read = { id: id === undefined ? undefined : Number(id), isEvent: name !== undefined };
  if (name === 'ready') return { ...read, event: { name, data: undefined } };
  if (name === 'changed') return { ...read, event: { name, data: JSON.parse(textOf('data') ?? 'null') } };
  return { ...read, event: undefined };
}
