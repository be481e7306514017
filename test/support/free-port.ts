import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A free port at this address, for a program that needs the number in advance. */
export async function freePort(address: string): Promise<number> {
  const server = createServer().listen(0, address);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
