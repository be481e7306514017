import type { IncomingMessage } from 'node:http';
import { streamedEvents } from '../kernel/network/event-stream.js';

const NAMES = ['ready', 'changed', 'stopped', 'reserved'] as const;

/** An event that the gateway knows. It ignores other events, which a later version of the service may send. */
export interface ServiceEvent {
  readonly name: (typeof NAMES)[number];
  /** What has changed, which sessions were stopped, or which names were reserved or are free. */
  readonly data: unknown;
}

/** The events of an answer as they come. Throws if one was lost. */
export async function* eventsIn(answer: IncomingMessage, heard: () => void): AsyncGenerator<ServiceEvent> {
  for await (const { name, data } of streamedEvents(answer, heard)) {
    const known = NAMES.find((one) => one === name);
    if (known !== undefined) yield { name: known, data: known === 'ready' ? undefined : JSON.parse(data) };
  }
}
