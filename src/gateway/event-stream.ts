import type { IncomingMessage } from 'node:http';

/** An event that the gateway knows. It ignores other events, which a later version of the service may send. */
export interface ServiceEvent {
  readonly name: 'ready' | 'changed' | 'stopped';
  /** What has changed, or which sessions were stopped. */
  readonly data: unknown;
}

/**
 * The events of an answer as they come. Calls `heard` for everything that comes, also a heartbeat. Throws if one was
 * lost.
 */
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
  /** Undefined from an earlier version of the service, which sends no numbers. */
  readonly id: number | undefined;
  /** False for a heartbeat, which has the number of the last event. */
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
  if (name === 'changed' || name === 'stopped') {
    return { ...read, event: { name, data: JSON.parse(textOf('data') ?? 'null') } };
  }
  return { ...read, event: undefined };
}
