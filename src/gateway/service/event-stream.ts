import type { IncomingMessage } from 'node:http';
import { messageOf } from '../../error-message.js';
import { ServiceUnavailable } from './service-unavailable.js';

export interface ServiceEvent {
  /** `ready`, `changed`, or what a later version of the service sends. */
  readonly name: string;
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
      let text = '';
      for await (const part of response.setEncoding('utf8')) {
        this.heard();
        const blocks = `${text}${part}`.split('\n\n');
        text = blocks.pop() ?? '';
        yield* blocks.flatMap(eventIn);
      }
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

/** None for a block without an event, such as a comment or `retry`. */
function eventIn(block: string): ServiceEvent[] {
  const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
  return name === undefined ? [] : [{ name, data: JSON.parse(data) }];
}
