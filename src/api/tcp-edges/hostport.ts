import { Problem, quoted } from '../../kernel/problem.js';
import { canonicalHost, ParseError, PortOutOfRange, parsePort, splitPort } from '../../rules/index.js';

export const MAX_HOSTPORT_BYTES = 512;

/** An address that an edge serves. `text` is kept as sent; hostports are compared by `canonical`. */
export interface Hostport {
  readonly text: string;
  readonly canonical: string;
}

/** `field` is the path in messages, such as `hostports[2]`. Throws hostport_malformed or hostport_port_out_of_range. */
export function parseHostport(text: unknown, field: string): Hostport {
  if (typeof text !== 'string') {
    throw new Problem('hostport_malformed', `${field} must be a string such as 'tcp.example.com:443'.`);
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_HOSTPORT_BYTES) {
    const sentence = `${field} ${quoted(text)} is ${bytes} bytes long; the maximum is ${MAX_HOSTPORT_BYTES}.`;
    throw new Problem('hostport_malformed', sentence);
  }
  try {
    return { text, canonical: canonicalHostport(text) };
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    const problem = error instanceof PortOutOfRange ? 'hostport_port_out_of_range' : 'hostport_malformed';
    throw new Problem(problem, `${field} ${quoted(text)} is not a hostport: ${error.message}.`);
  }
}

/** Checks the host before the port: if both are wrong, the caller learns about the host. */
function canonicalHostport(text: string): string {
  const { host, port } = splitPort(text);
  if (port === undefined) throw new ParseError("it has no port, as in 'tcp.example.com:443'");
  return `${canonicalHost(host)}:${parsePort(port, 1)}`;
}
