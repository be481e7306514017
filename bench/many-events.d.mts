import type { ClientBase } from 'pg';

/** Appends events of an account of its own, without rows; resolves with the id of the account. */
export function writeManyEvents(client: ClientBase, count: number): Promise<string>;
