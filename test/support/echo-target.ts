import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { stopAtEnd } from './leftovers.js';

/** What a tunnel leads to: it answers every byte with that byte's complement, so that an echo elsewhere is not mistaken for it. */
export interface EchoTarget {
  readonly port: number;
  /** How many connections have come. */
  readonly connections: () => number;
}

export async function startEchoTarget(): Promise<EchoTarget> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('data', (data) => socket.write(complementOf(data)));
    socket.on('error', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stopAtEnd(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

export const complementOf = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte) => byte ^ 0xff));

/** Sends `bytes` and returns what came back, as many as were sent or all until the other side closed. */
export async function exchange(host: string, port: number, bytes: Buffer): Promise<Buffer> {
  const socket = connect(port, host);
  const received: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    const finish = (): void => {
      socket.destroy();
      resolve(Buffer.concat(received));
    };
    socket.on('data', (data) => {
      received.push(data);
      size += data.length;
      if (size >= bytes.length) finish();
    });
    socket.on('end', finish);
    socket.on('error', reject);
    socket.write(bytes);
  });
}
