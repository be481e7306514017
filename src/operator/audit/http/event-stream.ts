import type { IncomingMessage } from 'node:http';
import { Unavailable } from '../../../kernel/network/unavailable.js';

export interface StreamEvent {
  readonly name: string;
  readonly data: string;
}

/** The events of a stream whose events are numbered from 0 on. Calls `heard` for all that comes, also a heartbeat. */
export async function* eventsIn(answer: IncomingMessage, heard: () => void): AsyncGenerator<StreamEvent> {
  let [rest, next] = ['', 0];
  for await (const part of answer.setEncoding('utf8')) {
    heard();
    const blocks = `${rest}${part}`.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const textOf = (field: string): string | undefined =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${field}: `))
          ?.slice(field.length + 2);
      const [name, data = ''] = [textOf('event'), textOf('data')];
      if (name === undefined) continue;
      if (Number(textOf('id')) !== next) throw new Unavailable(`it left out the event ${next}`);
      next += 1;
      yield { name, data };
    }
  }
}
