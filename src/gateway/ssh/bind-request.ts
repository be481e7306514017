import { isIPv6 } from 'node:net';
import { parseBindTarget } from '../../bind-rules/bind-target.js';
import { canonicalHost, ParseError } from '../../host-name.js';
import { Problem } from '../../problem.js';
import type { OwnedHost } from '../gateway-settings.js';
import type { Ports } from '../ports.js';
import type { TargetBody } from '../service-client.js';

export type RefusalReason =
  | 'malformed'
  | 'not_served'
  | 'not_permitted'
  | 'service_unavailable'
  | 'too_many'
  | 'cannot_listen';

/** The message is a sentence for the terminal of the client. */
export class BindRefused extends Error {
  override name = 'BindRefused';

  constructor(
    readonly reason: RefusalReason,
    message: string,
  ) {
    super(message);
  }
}

/** A rule of this length is the longest that the service stores. */
const MAX_ADDRESS_LENGTH = 512;

/** What a client asks to bind. */
export interface BindRequest {
  /** As sent: connections name it to the client. */
  readonly asked: { readonly address: string; readonly port: number };
  readonly target: TargetBody;
  /** The rule that would permit it and no more. */
  readonly rule: string;
  /** The host as others know it, and where to listen; undefined for domains and labels. */
  readonly listen: OwnedHost | undefined;
}

/** Reads a bind address of `ssh -R`: `key=value`, or a host. Throws BindRefused. */
export function readBindRequest(address: string, port: number, hosts: readonly OwnedHost[], ports: Ports): BindRequest {
  if (address.length > MAX_ADDRESS_LENGTH) {
    throw new BindRefused(
      'malformed',
      `an address has ${address.length} characters; the most is ${MAX_ADDRESS_LENGTH}`,
    );
  }
  try {
    const request = address.includes('=') ? label(address) : host(address, port, hosts, ports);
    // Everything that is asked of the service is well-formed, so its refusals are about rights.
    parseBindTarget(request.target);
    return { asked: { address, port }, ...request };
  } catch (error) {
    if (error instanceof ParseError)
      throw new BindRefused('malformed', `'${address}' cannot be bound: ${error.message}`);
    if (error instanceof Problem) throw new BindRefused('malformed', error.message);
    throw error;
  }
}

type Read = Omit<BindRequest, 'asked'>;

/** Some clients cannot ask for port 0, so a label and a domain take any port. It tells the binds of a client apart. */
function label(text: string): Read {
  const at = text.indexOf('=');
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  return { target: { label: { key, value } }, rule: `bind:${key}=${value}`, listen: undefined };
}

function host(text: string, port: number, hosts: readonly OwnedHost[], ports: Ports): Read {
  if (text === '' || text === '*') {
    throw new BindRefused('malformed', `name the host to bind, one of ${namesOf(hosts)}, or a label: key=value`);
  }
  const name = text.startsWith('*.') ? text : canonicalHost(isIPv6(text) ? `[${text}]` : text);
  const listen = hosts.find((owned) => owned.host === name);
  if (listen !== undefined) return ofAddress(listen, port, ports);
  const isAddress = /^\[|\.\d+$/.test(name);
  if (!isAddress) return { target: { domain: name }, rule: `bind:${name}`, listen: undefined };
  throw new BindRefused('not_served', `this gateway listens at ${namesOf(hosts)}, and not at ${name}`);
}

function ofAddress(listen: OwnedHost, port: number, ports: Ports): Read {
  const refusal = port === 0 ? undefined : ports.refusal('binds', port);
  if (refusal !== undefined) {
    throw new BindRefused('not_served', `port ${port} ${refusal}; port 0 takes a free one`);
  }
  const rule = port === 0 ? `bind:${listen.host}` : `bind:${listen.host}:${port}`;
  return { target: { address: `${listen.host}:${port}` }, rule, listen };
}

const namesOf = (hosts: readonly OwnedHost[]): string => hosts.map((owned) => owned.host).join(', ');
