import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, it } from '@jest/globals';
import { askBeforeSocket } from './ask-before-socket.js';

/** A server that greets the clients from these addresses. */
async function serverFor(admitted: readonly string[]) {
  const asked: (string | undefined)[] = [];
  const made: (string | undefined)[] = [];
  const server = createServer((socket) => {
    made.push(socket.remoteAddress);
    socket.end('hello');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const isAsked = askBeforeSocket(server, ({ remoteAddress = '', remotePort }) => {
    asked.push(`${remoteAddress}:${remotePort}`);
    return admitted.includes(remoteAddress);
  });
  const { port } = server.address() as AddressInfo;
  const visitFrom = async (localAddress: string) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    await once(socket, 'connect');
    const from = `${localAddress}:${socket.localPort}`;
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    await once(socket, 'close');
    return { from, text };
  };
  return { server, isAsked, asked, made, visitFrom };
}

it('asks about each connection by its address and port, and makes a socket of those alone that are admitted', async () => {
  const { server, isAsked, asked, made, visitFrom } = await serverFor(['127.0.0.1']);
  expect(isAsked).toBe(true);
  const visits = [await visitFrom('127.0.0.1'), await visitFrom('127.0.0.2'), await visitFrom('127.0.0.1')];
  expect(visits.map(({ text }) => text)).toEqual(['hello', '', 'hello']);
  expect(asked).toEqual(visits.map(({ from }) => from));
  expect(made).toEqual(['127.0.0.1', '127.0.0.1']);
  server.close();
  await once(server, 'close');
});

it('asks nothing, and says so, if Node has no such place', () => {
  expect(askBeforeSocket(createServer(), () => false)).toBe(false);
});
