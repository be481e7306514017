import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { EventStream } from './support/event-stream.js';
import { newPublicKey } from './support/keys.js';
import { tokenOf } from './support/live-feed.js';
import { addAccount, type TestPrincipal } from './support/principals.js';
import { repaired } from './support/repaired.js';
import { GATEWAY, GATEWAY_TOKEN, type Service, startService } from './support/service.js';

/** What someone writes into an event as a superuser. The index on actors refuses metadata that is not JSON. */
const DAMAGES = [
  ['data that is not JSON', 'data', '{'],
  ['data that is no object', 'data', 'null'],
  ['metadata that is not JSON', 'metadata', 'x'],
  ['metadata that names no actor', 'metadata', '[]'],
] as const;

let service: Service;
let account: TestPrincipal;
/** The id of the credential with the damaged event, and the position of that event. */
let id: string;
let at: number;
beforeAll(async () => {
  service = await startService(GATEWAY);
  account = await addAccount(service);
  await sql('alter table events disable trigger user');
  await sql('drop index events_actor');
  await create();
  const { body, headers } = await create();
  [id, at] = [body.id, Number(headers.get('log-position'))];
  await create();
  await sql('create table kept_events as select * from events');
});
afterEach(async () => {
  await sql('delete from events');
  await sql('insert into events select * from kept_events');
});
afterAll(() => service.stop());

const sql = (statement: string, values: unknown[] = []) => service.pool.query(statement, values);

const create = () => account.client.post('/ssh_credentials', { public_key: newPublicKey() });
const damage = (field: string, text: string) =>
  sql(`update events set ${field} = $1 where account_id = $2 and position = $3`, [text, account.accountId, at]);
const stream = (path: string, headers = {}) => EventStream.open(`${service.app.url}${path}`, tokenOf(account), headers);
/** The refusal of every read that needs the event. */
const refusal = () => [409, 'ERR_TAS_409', expect.stringContaining(`The event at position ${at} cannot be read`)];
const refusalOf = async (path: string) => {
  const { status, body } = await account.client.get(path);
  return [status, body.error_code, body.msg];
};
const fetchAs = (accept: string, after: number) =>
  fetch(`${service.app.url}/events?after=${after}`, {
    headers: { accept, authorization: `Bearer ${tokenOf(account)}` },
  });
const positionsOf = (events: readonly { logposition: number }[]) => events.map(({ logposition }) => logposition);

describe.each(DAMAGES)('an event with %s', (_, field, text) => {
  it('ends the pages before it, is named by the next page, and can be passed by', async () => {
    await damage(field, text);
    const page = await account.client.get(`/events?after=${at - 2}`);
    expect(positionsOf(page.body.events)).toEqual([at - 1]);
    expect(await refusalOf(page.body.next_page_uri)).toEqual(refusal());
    const batch = await fetchAs('application/cloudevents-batch+json', at - 2);
    expect(positionsOf(JSON.parse(await batch.text()))).toEqual([at - 1]);
    expect((await fetchAs('application/cloudevents-batch+json', at - 1)).status).toBe(409);
    expect((await account.client.get(`/events?after=${at}`)).body.events).toHaveLength(1);
  });

  it('ends the lines before it, with the problem as the last line', async () => {
    await damage(field, text);
    const response = await fetchAs('application/x-ndjson', at - 2);
    const lines = (await response.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([
      expect.objectContaining({ logposition: at - 1 }),
      expect.objectContaining({ error_code: 'ERR_TAS_409', details: { position: String(at) } }),
    ]);
  });

  it('ends a stream before it with a message, and is no reason to connect again and again', async () => {
    await damage(field, text);
    const first = await stream(`/events?after=${at - 2}`);
    expect(await first.ended).toBe('ended');
    expect(first.messages.map(({ event }) => event)).toEqual(['message', 'problem']);
    expect(first.messages[1]?.data).toMatchObject({ error_code: 'ERR_TAS_409', details: { position: String(at) } });
    expect(first.lastEventId).toBe(String(at - 1));
    // A browser does not open a stream anew after an answer that is no stream.
    const again = await stream('/events', { 'last-event-id': first.lastEventId });
    expect(again.response.statusCode).toBe(409);
  });

  it('is named by the history of its resource', async () => {
    await damage(field, text);
    expect(await refusalOf(`/ssh_credentials/${id}/events`)).toEqual(refusal());
  });

  it('leaves all reads of the tables, and of the log before it, as they are', async () => {
    await damage(field, text);
    const paths = [`/ssh_credentials/${id}`, '/ssh_credentials', `/ssh_credentials?as_of=${at - 1}`];
    for (const path of paths) expect((await account.client.get(path)).status).toBe(200);
  });
});

describe('an event whose data cannot be read', () => {
  it('is named by every read as of a position after it that folds it', async () => {
    await damage('data', '{');
    for (const path of [`/ssh_credentials/${id}`, '/ssh_credentials']) {
      expect(await refusalOf(`${path}?as_of=${at}`)).toEqual(refusal());
    }
  });

  it('stops a repair, which names its position', async () => {
    await damage('data', '{');
    await expect(repaired(service.app.database)).rejects.toThrow(`position ${at} (stream ${id}): its data is not JSON`);
  });

  it('makes gateways recheck once when its credential is deleted', async () => {
    const follow = () => EventStream.open(`${service.app.url}/ssh_gateway/changes`, GATEWAY_TOKEN);
    const before = await follow();
    await before.until(1);
    await damage('data', '{');
    expect((await account.client.delete(`/ssh_credentials/${id}`)).status).toBe(204);
    await before.ended;
    const after = await follow();
    await after.until(1);
    expect(after.messages[0]?.event).toBe('ready');
    after.close();
  });
});

describe('an event whose metadata cannot be read', () => {
  it('is told when events of an actor are looked for', async () => {
    await damage('metadata', 'x');
    const [status, code, message] = await refusalOf(`/events?actor=${account.id}`);
    expect([status, code]).toEqual([409, 'ERR_TAS_409']);
    expect(message).toMatch(/metadata of an event after position 0 and up to \d+ is not JSON/);
  });
});

describe('an event that cannot be read and is new', () => {
  it('ends the streams that wait for it', async () => {
    const { rows } = await sql('select size::int from log_heads where account_id = $1', [account.accountId]);
    const waiting = await stream(`/events?after=${rows[0].size}`);
    await sql(
      `insert into events select account_id, $2 + 1, 'sshcr_x', 1, gen_random_uuid(), type, '{', metadata, now(), now(), leaf_hash
       from events where account_id = $1 and position = $3`,
      [account.accountId, rows[0].size, at],
    );
    await sql('update log_heads set size = size + 1 where account_id = $1', [account.accountId]);
    expect(await waiting.ended).toBe('ended');
    expect(waiting.messages).toMatchObject([
      { event: 'problem', data: { details: { position: String(rows[0].size + 1) } } },
    ]);
    await sql('update log_heads set size = size - 1 where account_id = $1', [account.accountId]);
  });
});
