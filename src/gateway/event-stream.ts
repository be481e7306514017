import type { IncomingMessage } from 'node:http';
import { streamedEvents } from '../kernel/network/event-stream.js';

/** An event that the gateway knows. It ignores other events, which a later version of the service may send. */
export interface ServiceEvent {
  readonly name: 'ready' | 'changed' | 'stopped';
  /** What has changed, or which sessions were stopped. */
  readonly data: unknown;
}

/** The events of an answer as they come. Throws if one was lost. */
export async function* eventsIn(answer: IncomingMessage, heard: () => void): AsyncGenerator<ServiceEvent> {
  for await (const { name, data } of streamedEvents(answer, heard)) {
    if (name === 'ready') yield { name, data: undefined };
    if (name === 'changed' || name === 'stopped') yield { name, data: JSON.parse(data) };
  }
}
