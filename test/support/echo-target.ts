import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stopAtEnd } from './leftovers.js';

/** The target of a tunnel. It answers each byte with its complement, which no other echo server does. */
export interface EchoTarget {
  readonly port: number;
  /** The same target on a Unix socket. */
  readonly socketPath: string;
  /** Number of connections so far. */
  readonly connections: () => number;
}

export async function startEchoTarget(): Promise<EchoTarget> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const serve = (socket: Socket): void => {
    connections += 1;
    sockets.add(socket);
    socket.on('data', (data) => socket.write(complementOf(data)));
    socket.on('error', () => socket.destroy());
  };
  const folder = await mkdtemp(join(tmpdir(), 'tas-echo-'));
  const socketPath = join(folder, 'socket');
  const [onPort, onSocket] = [createServer(serve).listen(0, '127.0.0.1'), createServer(serve).listen(socketPath)];
  await Promise.all([once(onPort, 'listening'), once(onSocket, 'listening')]);
  // Every user may connect, so that a failed connection is not caused by the permissions of the file.
  await chmod(folder, 0o755);
  await chmod(socketPath, 0o777);
  stopAtEnd(async () => {
    for (const socket of sockets) socket.destroy();
    onPort.close();
    onSocket.close();
    await rm(folder, { recursive: true, force: true });
  });
  const { port } = onPort.address() as AddressInfo;
  return { port, socketPath, connections: () => connections };
}

/** The port of a server that does this with each connection. */
export async function tcpServer(serve: (socket: Socket) => void, at = 0): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    stopAtEnd(async () => void socket.destroy());
    serve(socket);
  }).listen(at, '127.0.0.1');
  await once(server, 'listening');
  stopAtEnd(async () => void server.close());
  return (server.address() as AddressInfo).port;
}

export const complementOf = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte) => byte ^ 0xff));

/** Sends `bytes` and returns the answer: as many bytes, or fewer if the other side closes before. */
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
    socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? finish() : reject(error)));
    socket.write(bytes);
  });
}

/** A connection that has carried bytes to the target and back. */
export async function visit(port: number): Promise<Socket> {
  const visitor = connect(port, '127.0.0.1').on('error', () => undefined);
  stopAtEnd(async () => void visitor.destroy());
  await carry(visitor);
  return visitor.resume();
}

/** Fails if the connection carries no bytes. */
export async function carry(visitor: Socket): Promise<void> {
  const bytes = Buffer.from('hello');
  visitor.write(bytes);
  const [answer] = await once(visitor, 'data');
  if (!complementOf(bytes).equals(answer)) throw new Error('the bytes are not those of the target');
}
