import type { Socket } from 'node:net';
import { contains, type Network, parseAddress } from '../../rules/index.js';
import { Violation } from '../protocol/violation.js';
import { type ReadHeader, readHeader } from './read-header.js';

/** The longest wait for a header, which balancers send at once. */
const MAX_HEADER_MS = 5_000;

/**
 * Whether this is the address of a balancer. The gateway reads no header from others, who could name any client in it.
 */
export function isBalancer(networks: readonly Network[], remoteAddress: string): boolean {
  const address = parseAddress(remoteAddress.replace(/%.*/, ''));
  return address !== undefined && contains(networks, address);
}

interface HeaderOutcome {
  found(client: string | undefined): void;
  failed(error: unknown): void;
}

/** Reads the header at the beginning of a connection. What follows it stays in the socket for the next reader. */
export function takeHeader(socket: Socket, outcome: HeaderOutcome): void {
  let received: Buffer = Buffer.alloc(0);
  const finish = (): void => {
    clearTimeout(timer);
    socket.off('data', take).off('close', finish).pause();
  };
  const fail = (error: unknown): void => {
    finish();
    outcome.failed(error);
  };
  const take = (data: Buffer): void => {
    received = Buffer.concat([received, data]);
    const header = attempt(received, fail);
    if (header === undefined) return;
    finish();
    const rest = received.subarray(header.lengthBytes);
    if (rest.length > 0) socket.unshift(rest);
    outcome.found(header.client);
    socket.resume();
  };
  const late = `is a balancer of GATEWAY_PROXY_PROTOCOL_FROM and sent no header of the PROXY protocol in ${MAX_HEADER_MS} ms`;
  const timer = setTimeout(() => fail(new Violation('proxy_header', late)), MAX_HEADER_MS).unref();
  socket.on('data', take).once('close', finish);
}

function attempt(bytes: Buffer, fail: (error: unknown) => void): ReadHeader | undefined {
  try {
    return readHeader(bytes);
  } catch (error) {
    fail(error);
    return undefined;
  }
}
