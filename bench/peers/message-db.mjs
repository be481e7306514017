/**
 * message-db, which consists of functions of the database, called through node-postgres. write_message locks the
 * category and looks up the version of the stream. Followers ask get_category_messages for the messages after a number.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { EVENT_TYPE, METADATA, newCredential } from './new-event.mjs';

const FOLDER = new URL('../node_modules/@eventide/message-db/database/', import.meta.url);
/**
 * The files of its install.sh, without its role and without pgcrypto, whose function PostgreSQL has since version 13.
 */
const FILES = [
  ...['schema/message-store', 'tables/messages', 'types/message'],
  ...['hash-64', 'acquire-lock', 'category', 'is-category', 'id', 'cardinal-id', 'stream-version'].map(functionFile),
  ...['write-message', 'get-category-messages'].map(functionFile),
  ...['indexes/messages-id', 'indexes/messages-stream', 'indexes/messages-category'],
];
const WRITE = { name: 'write', text: 'select write_message($1, $2, $3, $4, $5, $6)' };
const CATEGORY = 'credential';
const PAGE = 1000;
const POLL_EVERY_MS = 25;

function functionFile(name) {
  return `functions/${name}`;
}

export async function openStore() {
  const pool = new pg.Pool({ options: '-c search_path=message_store,public' });
  for (const file of FILES) {
    const sql = await readFile(new URL(`${file}.sql`, FOLDER), 'utf8');
    // It makes its indexes concurrently, which works only outside of a transaction.
    for (const statement of file.startsWith('indexes') ? sql.split(';').filter((text) => text.trim() !== '') : [sql]) {
      await pool.query(statement);
    }
  }
  const append = (stream) => {
    const values = [randomUUID(), stream, EVENT_TYPE, newCredential(), METADATA, -1];
    return pool.query({ ...WRITE, values });
  };
  return {
    async append() {
      const stream = `${CATEGORY}-${randomUUID()}`;
      await append(stream);
      return stream;
    },
    race: (stream) => append(`${CATEGORY}-${stream}`),
    async follow(seen, signal) {
      const { rows } = await pool.query('select coalesce(max(global_position), 0) + 1 as next from messages');
      let [{ next }] = rows;
      while (!signal.aborted) {
        const found = await pool.query('select * from get_category_messages($1, $2, $3)', [CATEGORY, next, PAGE]);
        for (const { stream_name: stream, global_position: position } of found.rows) {
          seen(stream);
          next = Number(position) + 1;
        }
        if (found.rows.length < PAGE) await sleep(POLL_EVERY_MS);
      }
    },
  };
}
