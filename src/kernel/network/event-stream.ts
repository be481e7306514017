import type { IncomingMessage } from 'node:http';

/** An event of a stream of Server-Sent Events, with its data as it was sent. */
export interface StreamedEvent {
  readonly name: string;
  readonly data: string;
}

/**
 * The named events of an answer as they come. Calls `heard` for everything that comes, also a heartbeat. Throws if one
 * was lost.
 */
export async function* streamedEvents(answer: IncomingMessage, heard: () => void): AsyncGenerator<StreamedEvent> {
  let text = '';
  let last: number | undefined;
  for await (const part of answer.setEncoding('utf8')) {
    heard();
    const blocks = `${text}${part}`.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const { id, name, data } = readBlock(block);
      // A heartbeat has the number of the last event.
      const expected = last === undefined || name === undefined ? last : last + 1;
      if (expected !== undefined && id !== undefined && id !== expected) {
        throw new Error(`event ${expected} was lost: the next number was ${id}`);
      }
      last = id ?? last;
      if (name !== undefined) yield { name, data: data ?? 'null' };
    }
  }
}

/** The number is undefined from an earlier version of the service, which sends none; the name, of a heartbeat. */
function readBlock(block: string) {
  const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line] as const));
  const textOf = (field: string): string | undefined => fields.get(field)?.slice(field.length + 2);
  const id = textOf('id');
  return { id: id === undefined ? undefined : Number(id), name: textOf('event'), data: textOf('data') };
}
