import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HttpClient, readAnswer } from './http-client.js';
import { isTransientStatus, retryAfterMsOf, UNTIL_AVAILABLE, Unavailable } from './unavailable.js';

let server: Server;
let answer: (response: ServerResponse, request: IncomingMessage) => void;
let asked: string[];
let connections: number;
let client: HttpClient;
beforeEach(async () => {
  [asked, connections, client] = [[], 0, new HttpClient()];
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(response, request);
  });
  server.on('connection', () => {
    connections += 1;
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  client.close();
  server.closeAllConnections();
  server.close();
});

const url = (): URL => new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/asked`);
const ask = (limits: { maxMs?: number; signal?: AbortSignal } = {}) =>
  client.exchange(url(), {}, { maxMs: 5_000, ...limits }, (one) => readAnswer(one));

describe('a server that is asked', () => {
  it('is asked over the same connection again', async () => {
    answer = (response) => void response.end('one');
    expect([await ask(), await ask()]).toMatchObject(Array(2).fill({ status: 200, text: 'one', isWhole: true }));
    expect(connections).toBe(1);
  });

  it('gets a body with its length, and hears who asks', async () => {
    let heard: IncomingMessage['headers'] = {};
    answer = (response, { headers }) => {
      heard = headers;
      response.end();
    };
    await client.exchange(url(), { method: 'POST', body: 'ü' }, { maxMs: 5_000 }, (one) => readAnswer(one));
    expect(heard).toMatchObject({ 'content-length': '2', 'user-agent': 'tunnel-access' });
  });

  it('leads nowhere else: a redirect is an answer', async () => {
    answer = (response) => void response.writeHead(302, { location: '/elsewhere' }).end();
    expect(await ask()).toMatchObject({ status: 302 });
    expect(asked).toEqual(['/asked']);
    await expect(client.getJson(url(), 5_000)).rejects.toThrow('it answers 302');
  });
});

describe('an answer', () => {
  it('that is late is none, and neither is one whose end is late', async () => {
    answer = () => undefined;
    await expect(ask({ maxMs: 50 })).rejects.toEqual(new Unavailable('no answer within 0.05 s'));
    answer = (response) => void response.write('begun');
    await expect(ask({ maxMs: 50 })).rejects.toEqual(new Unavailable('no answer within 0.05 s'));
  });

  it('that is a stream may take longer, as long as something comes', async () => {
    answer = async (response) => {
      for (let n = 0; n < 8; n += 1) {
        response.write('.');
        await sleep(50);
      }
    };
    let text = '';
    const read = async (one: IncomingMessage, heard: () => void): Promise<void> => {
      for await (const part of one.setEncoding('utf8')) {
        heard();
        text += part;
      }
    };
    await expect(client.exchange(url(), {}, { maxMs: 300 }, read)).rejects.toThrow('no answer within');
    expect(text).toBe('........');
  });

  it('that breaks off is none', async () => {
    answer = (response) => void response.write('begun', () => response.destroy());
    const closed = new Unavailable('the connection was closed before the end of the answer');
    await expect(ask()).rejects.toEqual(closed);
    answer = (response) => void response.destroy();
    await expect(ask()).rejects.toEqual(closed);
  });

  it('is read no further than is enough, or than fits in memory', async () => {
    answer = (response) => {
      const more = (): void => void (response.destroyed || response.write('x'.repeat(1024 * 1024), more));
      more();
    };
    const begun = await client.exchange(url(), {}, { maxMs: 5_000 }, (one) =>
      readAnswer(one, ({ length }) => length > 9),
    );
    expect(begun.isWhole).toBe(false);
    await expect(ask()).rejects.toThrow('its answer is too long');
  });
});

it('a stop ends the wait for an answer with its reason, also when it came first', async () => {
  const stop = new AbortController();
  answer = () => stop.abort(new Error('stopped'));
  await expect(ask({ signal: stop.signal })).rejects.toEqual(new Error('stopped'));
  await expect(ask({ signal: stop.signal })).rejects.toEqual(new Error('stopped'));
  expect(asked).toHaveLength(1);
});

it('a server that is away is named by what the system says', async () => {
  const closed = url();
  await new Promise((resolve) => server.close(resolve));
  await expect(client.getJson(closed, 5_000)).rejects.toThrow('ECONNREFUSED');
});

describe('what is sent again', () => {
  it.each([
    [429, true],
    [408, true],
    [503, true],
    [302, false],
    [404, false],
  ])('after HTTP %s: %s', (status, is) => {
    expect(isTransientStatus(status)).toBe(is);
  });

  it('waits for Retry-After, in seconds or as a date, for an hour at most', () => {
    const of = (text?: string): number => retryAfterMsOf(text === undefined ? {} : { 'retry-after': text });
    expect([of(), of('2'), of('soon'), of('99999999')]).toEqual([0, 2_000, 0, 3_600_000]);
    const date = of(new Date(Date.now() + 10_000).toUTCString());
    expect([date > 8_000, date <= 10_000]).toEqual([true, true]);
    expect(UNTIL_AVAILABLE.minPauseMs(new Unavailable('away', { status: 503, retryAfterMs: 5 }))).toBe(5);
  });
});
