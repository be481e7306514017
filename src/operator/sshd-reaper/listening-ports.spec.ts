import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from '@jest/globals';
import { ListeningPorts } from './listening-ports.js';

const portOf = (server: ReturnType<typeof createServer>): number => (server.address() as { port: number }).port;

it('the table of the kernel has the ports at which this machine listens, with their addresses', async () => {
  const server = createServer().listen(0, '127.0.1.2');
  await once(server, 'listening');
  const port = portOf(server);
  const ports = new ListeningPorts();
  expect(ports.has('127.0.1.2', port)).toBe(true);
  expect(ports.has('127.0.1.3', port)).toBe(false);
  server.close();
  await once(server, 'close');
  expect(new ListeningPorts().has('127.0.1.2', port)).toBe(false);
});

it('an IPv6 address is found in each spelling, and only where it listens', () => {
  const rest = '00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1';
  const ports = new ListeningPorts(
    ['   0: B80D0120000000000000000001000000:1B59', '   1: 00000000000000000000000000000000:1B5A']
      .map((local) => `${local} ${rest}\n`)
      .concat(`   2: 0100007F:1B5B 0100007F:1F90 01 00000000:00000000\n`)
      .join(''),
  );
  expect(ports.has('2001:db8::1', 7001)).toBe(true);
  expect(ports.has('2001:db8:0::1', 7001)).toBe(true);
  expect(ports.has('::', 7002)).toBe(true);
  expect(ports.has('2001:db8::2', 7001)).toBe(false);
  // It carries a connection, and does not listen.
  expect(ports.has('127.0.0.1', 7003)).toBe(false);
});

it('what cannot be known counts as listening', () => {
  expect(new ListeningPorts('').has('127.0.0.1', 7001)).toBe(true);
  expect(new ListeningPorts().has('fe80::1%eth0', 7001)).toBe(true);
});
