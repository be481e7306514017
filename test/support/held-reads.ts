import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { stopAtEnd } from './leftovers.js';
import type { TestPrincipal } from './principals.js';
import type { Service } from './service.js';

/** Makes every list of decisions wait in the database, like a list that reads very many rows. */
export async function holdDecisions({ databaseUrl }: Service): Promise<{ release: () => Promise<void> }> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  await client.query('begin; lock table bind_decisions in access exclusive mode');
  return { release: stopAtEnd(() => client.end()) };
}

/** The connections on which statements wait for that lock. */
export async function heldStatements({ pool }: Service): Promise<number[]> {
  const { rows } = await pool.query(
    `select pid from pg_stat_activity
     where datname = current_database() and query like '%from bind_decisions d%' and state = 'active'
       and pid <> pg_backend_pid()`,
  );
  return rows.map(({ pid }) => pid);
}

/** Waits until this many statements wait. */
export async function untilHeld(service: Service, count: number): Promise<void> {
  for (let n = 0; n < 400; n += 1) {
    if ((await heldStatements(service)).length === count) return;
    await sleep(25);
  }
  throw new Error(`there were not ${count} waiting statements within ten seconds`);
}

/** Reads a list of decisions as a client that can go away. */
export function askForDecisions({ app }: Service, by: TestPrincipal) {
  const headers = { authorization: `Bearer ${by.client.token}` };
  const request = get(`${app.url}/bind_decisions`, { headers, agent: false }).on('error', () => undefined);
  const answered = once(request, 'response').then(([response]) => response as IncomingMessage);
  answered.catch(() => undefined);
  return { answered, leave: () => request.destroy() };
}
