import { readFileSync } from 'node:fs';
import pg from 'pg';
import { isJsonObject } from '../../src/json-object.js';
import type { PostgresServer } from './postgres-server.js';

/** Answers of the earlier version, and the secrets that it gave out. */
interface Before {
  readonly adminKey: string;
  readonly userKey: string;
  readonly revokedKey: string;
  readonly gatewayToken: string;
  readonly answers: Readonly<Record<string, object>>;
  readonly questions: readonly (readonly [question: object, answer: object])[];
}

const read = (file: string): string => readFileSync(new URL(`../e2e/upgrade/${file}`, import.meta.url), 'utf8');
/** Fields of histories that GET does not show. */
const INNER_FIELDS = ['key_type', 'key_bits', 'key_blob', 'fingerprint', 'exclusive'];

export const EARLIER = JSON.parse(read('0012.json'), asToday) as Before;

/** What later versions answer otherwise of the same: see CHANGELOG.md. */
function asToday(name: string, value: unknown): unknown {
  if (name === 'changes' && Array.isArray(value)) return value.filter(({ field }) => !INNER_FIELDS.includes(field));
  if (!isJsonObject(value)) return value;
  if ('decided_at' in value)
    return { ...value, gateway_name: null, log_position: null, rule_index: null, read_at: null };
  if ('specversion' in value) {
    return { ...value, source: new URL(String(value.source)).pathname, correlationid: value.operationid };
  }
  if ('changes' in value) return { ...value, correlation_id: value.operation_id, causation_id: null };
  return value;
}

/** A database of its own, as the earlier version has left it. Only its owner may change tables. */
export async function restoreEarlier(postgres: PostgresServer, name: string): Promise<string> {
  await postgres.query(`create database ${name}`);
  const client = new pg.Client(postgres.url(name));
  await client.connect();
  await client.query(read('0012.sql'));
  await client.end();
  return postgres.url(name);
}
