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
    } finally {
      clearTimeout(this.timer);
      this.stopped.removeEventListener('abort', this.end);
    }
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

/** The events of an answer as they come. `heard` is told of everything that comes. */
export async function* eventsIn(answer: IncomingMessage, heard: () => void): AsyncGenerator<ServiceEvent> {
  let text = '';
  for await (const part of answer.setEncoding('utf8')) {
    heard();
    const blocks = `${text}${part}`.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) yield* eventIn(block);
  }
}

/** A block can also be a comment or `retry`. */
function* eventIn(block: string): Generator<ServiceEvent> {
  const [, name, data = ''] = /^event: (ready|changed)\ndata: (.*)$/.exec(block) ?? [];
  if (name === 'ready') yield { name, data: undefined };
  if (name === 'changed') yield { name, data: JSON.parse(data) };
}
