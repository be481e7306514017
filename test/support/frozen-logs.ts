import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { ClientBase } from 'pg';
import { READ_MODELS } from '../../src/api/read-models.js';
import type { LoggedEvent } from '../../src/event-log/verify/logged-event.js';
import { REPOSITORY } from './documents.js';

export const FROZEN = `${REPOSITORY}test/frozen`;

/** Logs that every later version must read as the version that wrote them. test/frozen has a folder for each. */
export const frozenLogs = (): string[] =>
  (existsSync(FROZEN) ? readdirSync(FROZEN) : []).sort((one, other) =>
    one.localeCompare(other, 'en', { numeric: true }),
  );

export const frozenFile = (log: string, name: string): string => `${FROZEN}/${log}/${name}`;

/** The lines of a file, parsed. */
// biome-ignore lint/suspicious/noExplicitAny: rows and answers of any shape
export const frozenLines = (log: string, name: string): any[] =>
  readFileSync(frozenFile(log, name), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

export const frozenEvents = (log: string): LoggedEvent[] => frozenLines(log, 'log.ndjson');

/** The event types of this version without an event in the log. */
export function typesWithout(events: Iterable<Pick<LoggedEvent, 'type'>>): string[] {
  const held = new Set([...events].map(({ type }) => type));
  return READ_MODELS.flatMap((model) => Object.keys(model.events)).filter((type) => !held.has(type));
}

/** The rows of the read models, in the order of their keys. The connection must print times in UTC. */
export async function frozenRows(client: ClientBase): Promise<object[]> {
  const found: object[] = [];
  for (const { name, columns, primaryKey } of READ_MODELS.flatMap(({ tables }) => tables)) {
    const query = `select to_jsonb(t) as row from (select ${columns} from ${name}) t order by ${primaryKey}`;
    for (const { row } of (await client.query(query)).rows) found.push({ table: name, row });
  }
  return found;
}
