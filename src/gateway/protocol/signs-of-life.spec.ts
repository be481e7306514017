import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { SignsOfLife } from './signs-of-life.js';

const realTimeout = setTimeout;
let questions: number;
let peer: { isPaused: boolean; ping(): void };
let signs: SignsOfLife;
beforeEach(() => {
  jest.useFakeTimers();
  questions = 0;
  peer = {
    isPaused: false,
    ping: () => {
      questions += 1;
    },
  };
  signs = new SignsOfLife(peer);
});
afterEach(() => {
  jest.useRealTimers();
});

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

describe('a question for a sign of life', () => {
  it('is answered by any byte within two seconds', async () => {
    const isAlive = signs.isAlive();
    await pass(1_990);
    signs.heard();
    expect(await isAlive).toBe(true);
    await pass(5_000);
    expect(signs.isSilent).toBe(false);
  });

  it('has no answer after two seconds, and then the client is silent until a byte arrives', async () => {
    const isAlive = signs.isAlive();
    await pass(1_990);
    expect(signs.isSilent).toBe(false);
    await pass(20);
    expect(await isAlive).toBe(false);
    expect(signs.isSilent).toBe(true);
    expect(await signs.isAlive()).toBe(false);
    signs.heard();
    expect(signs.isSilent).toBe(false);
  });

  it('is not answered by what arrived before it', async () => {
    signs.heard();
    const isAlive = signs.isAlive();
    await pass(2_010);
    expect(await isAlive).toBe(false);
  });

  it('is asked once, however many wait for its answer', async () => {
    const waiting = Array.from({ length: 100 }, () => signs.isAlive());
    for (let beat = 0; beat < 3; beat += 1) signs.beat();
    await pass(2_010);
    waiting.push(signs.isAlive());
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([false]));
    expect(questions).toBe(1);
    signs.heard();
    void signs.isAlive();
    expect(questions).toBe(2);
  });

  it('is not asked of a client that is not read, whose silence means nothing', async () => {
    peer.isPaused = true;
    expect(await signs.isAlive()).toBe(true);
    for (let beat = 0; beat < 10; beat += 1) signs.beat();
    expect([questions, signs.isSilent]).toEqual([0, false]);
  });

  it('ends with the connection', async () => {
    const isAlive = signs.isAlive();
    signs.closed();
    expect(await isAlive).toBe(false);
  });

  it('is not late because the gateway was busy: what arrived in time is read first', async () => {
    jest.useRealTimers();
    const server = createServer((socket) => socket.on('data', () => signs.heard())).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(client, 'connect');
    await sleep(50);
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    const isAlive = signs.isAlive();
    realTimeout(() => {
      client.write('x');
      jest.advanceTimersByTime(2_000);
    }, 1);
    expect(await isAlive).toBe(true);
    client.destroy();
    server.close();
  });
});

describe('keepalives', () => {
  const beat = (): void => signs.beat();

  it('ask a silent client, and end it after three more without a sign of life', () => {
    signs.heard();
    beat();
    expect(questions).toBe(0);
    for (let n = 0; n < 3; n += 1) beat();
    expect(questions).toBe(1);
    expect(beat).toThrow('gave no sign of life for the time of 3 keepalives');
  });

  it('let a client live that answers', () => {
    for (let n = 0; n < 20; n += 1) {
      beat();
      if (n % 3 === 0) signs.heard();
    }
  });
});
