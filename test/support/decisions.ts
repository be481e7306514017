import type { Pool } from 'pg';
import type { ApiClient } from './api-client.js';
import { stopAtEnd } from './leftovers.js';
import type { Service } from './service.js';

export interface TestCredential {
  readonly id: string;
  readonly fingerprint: string;
  readonly owner_id: string;
}

/** A credential, with the fingerprint of its key. */
export async function upload(service: Service, client: ApiClient, body: object): Promise<TestCredential> {
  const { body: made } = await client.post('/ssh_credentials', body);
  const { rows } = await service.pool.query('select fingerprint from ssh_credentials where id = $1', [made.id]);
  return { ...made, fingerprint: rows[0].fingerprint };
}

/** The value of one line of the metrics. */
export async function metric(gateway: ApiClient, line: string): Promise<number> {
  const { body } = await gateway.get('/ssh_gateway/metrics');
  const found = (body as string).split('\n').find((one) => one.startsWith(`${line} `));
  if (found === undefined) throw new Error(`there is no metric ${line}:\n${body}`);
  return Number(found.split(' ').at(-1));
}

/** Waits until all decisions are written. */
export async function untilWritten(gateway: ApiClient): Promise<void> {
  while ((await metric(gateway, 'tunnel_access_bind_decisions_queued')) > 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Blocks writes of decisions until `release`. */
export async function holdWrites(pool: Pool, lock = 'bind_decisions in access exclusive mode') {
  const holder = await pool.connect();
  await holder.query('begin');
  await holder.query(`lock table ${lock}`);
  return {
    release: stopAtEnd(async () => {
      await holder.query('rollback');
      holder.release();
    }),
  };
}

/** Keeps every table from being written until it is released. */
export async function holdAllWrites(pool: Pool) {
  const { rows } = await pool.query(
    `select string_agg(quote_ident(tablename), ', ') as tables from pg_tables where schemaname = 'public'`,
  );
  return holdWrites(pool, `${rows[0].tables} in share mode`);
}
