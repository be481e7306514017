import { Agent } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { askNames, serveProgram } from '../support/names.js';
import { OwnGateway } from '../support/own-gateway.js';
import { addAccount } from '../support/principals.js';
import { type KeyPair, logIn, newKeyPair } from '../support/ssh-client.js';

let trial: OwnGateway;
let port: number;
/** What a visitor hears that does not end its headers, and when. It waits beside the other tests. */
let late: Promise<{ received: string; ms: number }>;
beforeAll(async () => {
  port = await freePort('127.0.0.1');
  trial = await OwnGateway.start({ httpListen: { host: '127.0.0.1', port } });
  const since = performance.now();
  const unfinished = raw('GET / HTTP/1.1\r\nHost: a.test\r\nX: ', 15_000);
  late = unfinished.then((received) => ({ received, ms: performance.now() - since }));
});

async function serveNames(key: KeyPair, target: number, ...names: readonly string[]) {
  const login = await logIn(trial.port, key, ...names.flatMap((name) => ['-R', `${name}:127.0.0.1:${target}`]));
  expect(login.isOpen ? 'open' : login.output()).toBe('open');
  return login;
}

const get = (host: string, agent?: Agent) => askNames(port, host, agent);

/** All that the gateway sends until it closes the connection, or says nothing for a while. */
function raw(text: string, silenceMs = 700): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'));
    socket.setTimeout(silenceMs, () => socket.destroy());
    socket.on('data', (data) => {
      received += data.toString('latin1');
    });
    socket.on('error', () => undefined).once('close', () => resolve(received));
  });
}

describe('a bound domain', () => {
  it('serves the request that names it, and no other one', async () => {
    const { port: target } = await serveProgram((_, response) => response.end('hello'));
    await serveNames(await trial.newCredential('bind:one.example.test'), target, 'one.example.test:80');
    expect(await get('ONE.example.test:8080')).toEqual({ status: 200, text: 'hello' });
    expect(await get('two.example.test')).toEqual({ status: 404, text: 'Not found\n' });
  });

  it('wins as the most exact name, and then the longest wildcard', async () => {
    const serve = async (text: string, name: string) => {
      const { port: target } = await serveProgram((_, response) => response.end(text));
      await serveNames(await trial.newCredential(), target, `${name}:0`);
    };
    await serve('short', '*.w.example.test');
    await serve('long', '*.b.w.example.test');
    await serve('exact', 'a.b.w.example.test');
    const answers = ['a.b.w.example.test', 'c.b.w.example.test', 'c.w.example.test'].map((host) => get(host));
    expect((await Promise.all(answers)).map(({ text }) => text)).toEqual(['exact', 'long', 'short']);
  });

  it('is shared by tunnels of an account in turn, and refused to another account', async () => {
    for (const text of ['a', 'b']) {
      const { port: target } = await serveProgram((_, response) => response.end(text));
      await serveNames(await trial.newCredential(), target, 'shared.example.test:80');
    }
    const texts = await Promise.all([1, 2, 3, 4].map(async () => (await get('shared.example.test')).text));
    expect(texts.toSorted()).toEqual(['a', 'a', 'b', 'b']);
    const [other, key] = [await addAccount(trial.service), await newKeyPair()];
    expect(await other.client.post('/ssh_credentials', { public_key: key.publicKey })).toMatchObject({ status: 201 });
    const refused = await logIn(trial.port, key, '-R', 'shared.example.test:80:127.0.0.1:9');
    expect(refused.isOpen).toBe(false);
    expect(trial.log.at(-1)?.message).toBeDefined();
    expect(trial.log.some(({ message }) => message.includes('a tunnel of another account serves'))).toBe(true);
  });

  it('is 502 while its program does not answer, and 404 after its tunnel', async () => {
    const login = await serveNames(await trial.newCredential(), await freePort('127.0.0.1'), 'down.example.test:80');
    expect(await get('down.example.test')).toMatchObject({ status: 502 });
    await login.close();
    await eventually(async () => expect(await get('down.example.test')).toMatchObject({ status: 404 }));
  });

  it('loses its open connections within a second after its right', async () => {
    const { port: target } = await serveProgram((_, response) => void response.write('first'));
    const key = await trial.newCredential('bind:lost.example.test');
    await serveNames(key, target, 'lost.example.test:80');
    const ended = get('lost.example.test').catch((error: Error) => error.message);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const since = performance.now();
    await trial.service.admin.delete(`/ssh_credentials/${key.id}`);
    expect(await ended).toMatch(/aborted|ECONNRESET|socket hang up/);
    expect(performance.now() - since).toBeLessThan(1_500);
    expect(await get('lost.example.test')).toMatchObject({ status: 404 });
  });
});

describe('a name whose client hangs', () => {
  it('is 502 within 5 s, also over a channel that is open', async () => {
    const { port: target } = await serveProgram((_, response) => response.end('hello'));
    const login = await serveNames(await trial.newCredential(), target, 'hung.example.test:80');
    const agent = new Agent({ keepAlive: true });
    expect(await get('hung.example.test', agent)).toMatchObject({ status: 200 });
    login.freeze();
    const since = performance.now();
    const answers = await Promise.all([get('hung.example.test', agent), get('hung.example.test')]);
    expect(answers.map(({ status }) => status)).toEqual([502, 502]);
    expect(performance.now() - since).toBeLessThan(5_000);
    agent.destroy();
    login.thaw();
    expect(trial.log).toContainEqual(
      expect.objectContaining({ event: 'http_refused', host: 'hung.example.test', outcome: 'no_answer' }),
    );
    expect(await trial.metrics()).toMatch(/tunnel_gateway_http_visits_total{outcome="no_answer"} [1-9]/);
  });

  it('goes to a newer connection of the credential. One that is alive keeps it', async () => {
    const { port: target } = await serveProgram((_, response) => response.end('hello'));
    const key = await trial.newCredential();
    const first = await serveNames(key, target, 'over.example.test:80');
    const second = await logIn(trial.port, key, '-R', `over.example.test:443:127.0.0.1:${target}`);
    expect(second.isOpen).toBe(false);
    expect(trial.log.some((line) => 'reason' in line && line.reason === 'held')).toBe(true);
    first.freeze();
    await serveNames(key, target, 'over.example.test:80');
    expect(await get('over.example.test')).toMatchObject({ status: 200 });
  });
});

describe('a visitor', () => {
  it('that leaves in its body resets it at the program, which never sees a part as all of it', async () => {
    const ends: string[] = [];
    const { port: target } = await serveProgram((asked) => {
      asked.once('error', () => ends.push('error')).once('end', () => ends.push('end'));
      asked.resume();
    });
    await serveNames(await trial.newCredential(), target, 'body.example.test:80');
    await raw('POST / HTTP/1.1\r\nHost: body.example.test\r\nContent-Length: 100\r\n\r\npart', 500);
    await eventually(async () => expect(ends).toEqual(['error']));
  });

  it('that has its answer before its body ends gets no further answer over the channel', async () => {
    const { server, port: target } = await serveProgram((_, response) => void response.writeHead(413).end('early'));
    let channels = 0;
    server.on('connection', () => {
      channels += 1;
    });
    await serveNames(await trial.newCredential(), target, 'early.example.test:80');
    const head = 'Host: early.example.test\r\n';
    const received = await raw(`POST / HTTP/1.1\r\n${head}Content-Length: 100\r\n\r\nGET / HTTP/1.1\r\n${head}\r\n`);
    expect(received.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(channels).toBe(1);
  });

  it('that sends requests without end while none is answered is closed', async () => {
    const { port: target } = await serveProgram(() => undefined);
    await serveNames(await trial.newCredential(), target, 'endless.example.test:80');
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    const requests = Buffer.from('GET / HTTP/1.1\r\nHost: endless.example.test\r\n\r\n'.repeat(1_000));
    for (let n = 0; n < 30; n += 1) socket.write(requests);
    await new Promise((resolve) => socket.once('close', resolve));
  });
});

describe('the gateway goes on', () => {
  const HANGING = 'GET / HTTP/1.1\r\nHost: hangs.example.test\r\n\r\n';
  beforeAll(async () => {
    const { port: target } = await serveProgram(({ url }, response) => (url === '/' ? undefined : response.end('yes')));
    await serveNames(await trial.newCredential(), target, 'hangs.example.test:80');
  });
  const isServed = async () => expect(await raw(HANGING.replace('/', '/now'))).toMatch(/yes$/);

  it.each([
    ['an upgrade', 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['CONNECT', 'CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n'],
  ])('after %s behind a request without an answer, which ends the connection', async (_, behind) => {
    const since = performance.now();
    expect(await raw(`${HANGING}${behind}`, 10_000)).toBe('');
    expect(performance.now() - since).toBeLessThan(5_000);
    await isServed();
  });

  it('after thousands of short headers, of which it keeps those of one request', async () => {
    const large = HANGING.replace('\r\n\r\n', `\r\n${'a:\r\n'.repeat(3_900)}\r\n`);
    expect(await raw(large)).toMatch(/^HTTP\/1.1 400 [\s\S]*more than 200 headers\n/);
    expect(await raw(`${HANGING}${large}`, 10_000)).toBe('');
    await isServed();
  });

  it('without a visitor that leaves before the tunnel has switched protocols', async () => {
    const ends: string[] = [];
    const { server, port: target } = await serveProgram((_, response) => response.end());
    server.on(
      'upgrade',
      (_, socket) =>
        void socket
          .resume()
          .on('error', () => undefined)
          .once('end', () => ends.push('end')),
    );
    await serveNames(await trial.newCredential(), target, 'left.test:80');
    const upgrade = 'GET / HTTP/1.1\r\nHost: left.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    await raw(upgrade, 500);
    await eventually(async () => expect(ends).toEqual(['end']));
  });
});

describe('the gateway carries', () => {
  it('each byte of the headers of an answer, also beyond ASCII', async () => {
    const { port: target } = await serveProgram((_, response) => {
      response.writeHead(200, { 'X-Name': Buffer.from('ü').toString('latin1') });
      response.write('.');
      response.end();
    });
    await serveNames(await trial.newCredential(), target, 'bytes.example.test:80');
    const received = await raw('GET / HTTP/1.1\r\nHost: bytes.example.test\r\nConnection: close\r\n\r\n');
    expect(Buffer.from(received, 'latin1').toString('utf8')).toContain('X-Name: ü\r\n');
  });

  it('a WebSocket, once the tunnel has switched', async () => {
    const { server, port: target } = await serveProgram((_, response) => response.end());
    server.on('upgrade', (asked, socket) => {
      if (asked.url !== '/yes') return void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      socket.pipe(socket);
    });
    await serveNames(await trial.newCredential(), target, 'ws.example.test:80');
    const ask = (path: string) =>
      raw(`GET ${path} HTTP/1.1\r\nHost: ws.example.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nPING`);
    expect(await ask('/yes')).toMatch(/^HTTP\/1.1 101 [\s\S]*\r\n\r\nPING$/);
    expect(await ask('/no')).toMatch(/^HTTP\/1.1 403 [\s\S]*\r\n\r\nno$/);
  });

  it('each event of a stream at once', async () => {
    const { port: target } = await serveProgram((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    });
    await serveNames(await trial.newCredential(), target, 'sse.example.test:80');
    expect(await raw('GET / HTTP/1.1\r\nHost: sse.example.test\r\n\r\n')).toContain('data: 1\n\n');
  });
});

describe('1,000 requests over two tunnels', () => {
  it('are answered by the tunnel of their Host, over reused connections and pipelined', async () => {
    const hosts = ['left.example.test', 'right.example.test'];
    for (const host of hosts) {
      const { port: target } = await serveProgram((asked, response) => {
        const fits = asked.headers.host === host;
        response.end(`<${fits ? host : 'MIXED UP'} ${asked.url}>`);
      });
      await serveNames(await trial.newCredential(), target, `${host}:80`);
    }
    const hostOf = (n: number) => hosts[(n * 7) % 3 === 0 ? 0 : 1] ?? '';
    const received = async (connection: number): Promise<void> => {
      const numbers = Array.from({ length: 50 }, (_, n) => connection * 50 + n);
      const headers = (n: number) => `Host: ${hostOf(n)}\r\n${n === numbers.at(-1) ? 'Connection: close\r\n' : ''}`;
      const text = numbers.map((n) => `GET /${n} HTTP/1.1\r\n${headers(n)}\r\n`).join('');
      const answers = [...(await raw(text, 10_000)).matchAll(/<([^>]*)>/g)].map(([, one]) => one);
      expect(answers).toEqual(numbers.map((n) => `${hostOf(n)} /${n}`));
    };
    await Promise.all(Array.from({ length: 20 }, (_, connection) => received(connection)));
  }, 120_000);
});

const OK = 'GET /smuggled HTTP/1.1\r\nHost: corpus.example.test\r\n\r\n';
const HEAD = 'Host: corpus.example.test\r\n';

/** What Node's parser refuses, and one of each kind that asked-request.spec has in full. */
describe('a request that two programs could read differently', () => {
  const seen: (string | undefined)[] = [];
  beforeAll(async () => {
    const { port: target } = await serveProgram((asked, response) => {
      seen.push(asked.url);
      asked.resume().once('end', () => response.end('served'));
    });
    await serveNames(await trial.newCredential(), target, 'corpus.example.test:80');
  });

  it.each<[string, string]>([
    ['two Hosts', `GET / HTTP/1.1\r\n${HEAD}Host: b.test\r\n\r\n`],
    ['no Host in HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n'],
    ['a space before the colon of Host', 'GET / HTTP/1.1\r\nHost : corpus.example.test\r\n\r\n'],
    ['two names in a Host', 'GET / HTTP/1.1\r\nHost: corpus.example.test, b.test\r\n\r\n'],
    ['a port that is none', 'GET / HTTP/1.1\r\nHost: corpus.example.test:80b\r\n\r\n'],
    ['an absolute form of another scheme', `GET ftp://corpus.example.test/ HTTP/1.1\r\n${HEAD}\r\n`],
    ['CONNECT', `CONNECT corpus.example.test:80 HTTP/1.1\r\n${HEAD}\r\n`],
    [
      'a length and chunks',
      `POST / HTTP/1.1\r\n${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['the same length twice', `POST / HTTP/1.1\r\n${HEAD}Content-Length: 0\r\nContent-Length: 0\r\n\r\n`],
    ['a list of lengths', `POST / HTTP/1.1\r\n${HEAD}Content-Length: 0, 0\r\n\r\n`],
    ['a length with a sign', `POST / HTTP/1.1\r\n${HEAD}Content-Length: +0\r\n\r\n`],
    ['a negative length', `POST / HTTP/1.1\r\n${HEAD}Content-Length: -1\r\n\r\n`],
    ['a length in hex', `POST / HTTP/1.1\r\n${HEAD}Content-Length: 0x5\r\n\r\n`],
    ['an endless length', `POST / HTTP/1.1\r\n${HEAD}Content-Length: 99999999999999999999\r\n\r\n`],
    [
      'chunks that are not the last coding',
      `POST / HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
    ],
    ['a coding with a vertical tab', `POST / HTTP/1.1\r\n${HEAD}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`],
    ['a coding of another name', `POST / HTTP/1.1\r\n${HEAD}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['a space before the colon of a coding', `POST / HTTP/1.1\r\n${HEAD}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
    ['a folded header', `GET / HTTP/1.1\r\n${HEAD}X: a\r\n b\r\n\r\n`],
    ['a folded coding', `POST / HTTP/1.1\r\n${HEAD}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
    ['a header without a colon', `GET / HTTP/1.1\r\n${HEAD}X\r\n\r\n`],
    ['a null byte in a header', `GET / HTTP/1.1\r\n${HEAD}X: a\0b\r\n\r\n`],
    ['a bare CR in a header', `GET / HTTP/1.1\r\n${HEAD}X: a\rb\r\n\r\n`],
    ['bare LFs', `GET / HTTP/1.1\nHost: corpus.example.test\n\n`],
    ['a space at the begin of the headers', `GET / HTTP/1.1\r\n ${HEAD}\r\n`],
    ['the preface of HTTP/2', `PRI * HTTP/2.0\r\n${HEAD}\r\n`],
    ['a version that is none', `GET / HTTP/1.11\r\n${HEAD}\r\n`],
    ['headers of 17 KiB', `GET / HTTP/1.1\r\n${HEAD}X: ${'a'.repeat(17_000)}\r\n\r\n`],
  ])('is refused with all that follows it: %s', async (_, text) => {
    seen.length = 0;
    const received = await raw(`${text}${OK}`, 1_500);
    expect(received).toMatch(/^HTTP\/1.1 4\d\d /);
    expect(received.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(seen).toEqual([]);
  });
});

it.each(['h2c', 'TLS/1.2, HTTP/1.1'])('an offer of %s is no reason to refuse a request', async (offer) => {
  const { server, port: target } = await serveProgram((asked, response) => response.end(`<${asked.headers.upgrade}>`));
  server.on('upgrade', (_, socket) => socket.destroy());
  await serveNames(await trial.newCredential(), target, 'offer.example.test:80');
  const head = 'Host: offer.example.test\r\n';
  const connection = 'Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n';
  const received = await raw(
    `GET / HTTP/1.1\r\n${head}${connection}Upgrade: ${offer}\r\n\r\nGET / HTTP/1.1\r\n${head}\r\n`,
  );
  expect(received).toMatch(/^HTTP\/1.1 200 [\s\S]*<undefined>/);
  expect(received.match(/HTTP\/1\.1 /g)).toHaveLength(1);
});

describe('bytes of a tunnel that belong to no answer', () => {
  it('are not the answer to the next request', async () => {
    const { createServer: tcp } = await import('node:net');
    const POISON = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison';
    const server = tcp((socket) => {
      socket
        .on('error', () => undefined)
        .on('data', (data) => {
          const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n';
          if (data.toString().startsWith('HEAD')) {
            socket.write(answer);
            setTimeout(() => socket.write(POISON), 100);
          } else setTimeout(() => socket.write(`${answer}good`), 300);
        });
    }).listen(0, '127.0.0.1');
    stopAtEnd(async () => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    await serveNames(await trial.newCredential(), (server.address() as AddressInfo).port, 'head.example.test:80');
    const ask = (method: string) => `${method} / HTTP/1.1\r\nHost: head.example.test\r\n\r\n`;
    const received = await raw(`${ask('HEAD')}${ask('GET')}${ask('GET')}`, 1_500);
    expect(received).not.toContain('poison');
    expect(received.match(/good/g)).toHaveLength(2);
  });
});

it('a visitor that does not end its headers is answered after 10 s', async () => {
  const { received, ms } = await late;
  expect(received).toMatch(/^HTTP\/1.1 408 /);
  expect(ms).toBeLessThan(12_000);
});
