import { readFileSync } from 'node:fs';
import pg from 'pg';
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
export const EARLIER = JSON.parse(read('0012.json')) as Before;

/** A database of its own, as the earlier version has left it. Only its owner may change tables. */
export async function restoreEarlier(postgres: PostgresServer, name: string): Promise<string> {
  await postgres.query(`create database ${name}`);
  const client = new pg.Client(postgres.url(name));
  await client.connect();
  await client.query(read('0012.sql'));
  await client.end();
  return postgres.url(name);
}
