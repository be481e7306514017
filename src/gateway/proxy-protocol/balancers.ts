import type { Socket } from 'node:net';
import { Problem } from '../../kernel/problem.js';
import { compileNetwork, contains, type Network, parseAddress, parseCidr } from '../../rules/index.js';
import { Violation } from '../protocol/violation.js';
import { type ReadHeader, readHeader } from './read-header.js';

/** Balancers send the header at once. */
const MAX_HEADER_MS = 5_000;

/** Reads addresses and networks, divided by commas. Throws an Error whose message completes the sentence "NAME ...". */
export function parseBalancers(text: string): readonly Network[] {
  try {
    return text.split(',').map((entry) => compileNetwork(parseCidr(entry.trim(), 'the entry')));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Error(`must be addresses or networks, divided by commas: ${error.message}`);
  }
}

/** Whether a connection from this address begins with a header. From anybody else none is read: all could name any client. */
export function isBalancer(networks: readonly Network[], remoteAddress: string): boolean {
  const address = parseAddress(remoteAddress.replace(/%.*/, ''));
  return address !== undefined && contains(networks, address);
}

interface HeaderOutcome {
  found(client: string | undefined): void;
  failed(error: unknown): void;
}

/** Takes the header off the begin of a connection; what follows is left to whoever reads the socket then. */
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
