import { isIPv6 } from 'node:net';
import { Problem } from '../../kernel/problem.js';
import { canonicalHost, ParseError, parseBindTarget } from '../../rules/index.js';
import type { OwnedHost } from '../gateway-settings.js';
import type { Ports } from '../ports.js';
import type { TargetBody } from '../service-client.js';
import type { Label } from '../tunnels/open-tunnel.js';
import { readLabels } from './labels.js';

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

export interface BindQuestion {
  readonly target: TargetBody;
  /** The rule that would permit it and no more. */
  readonly rule: string;
}

/** What a client asks to bind. */
export interface BindRequest {
  /** As sent: connections name it to the client. */
  readonly asked: { readonly address: string; readonly port: number };
  /** A bind of several labels asks about each, and all must be permitted. */
  readonly questions: readonly BindQuestion[];
  /** What is bound: the host as others know it, and where to listen; or a domain or labels without a listener. */
  readonly target: OwnedHost | { readonly domain: string } | { readonly labels: readonly Label[] };
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
    const request = address.includes('=') ? labelled(address) : host(address, port, hosts, ports);
    // Everything that is asked of the service is well-formed, so its refusals are about rights.
    for (const { target } of request.questions) parseBindTarget(target);
    return { asked: { address, port }, ...request };
  } catch (error) {
    if (error instanceof ParseError)
      throw new BindRefused('malformed', `'${address}' cannot be bound: ${error.message}`);
    if (error instanceof Problem) throw new BindRefused('malformed', error.message);
    throw error;
  }
}

type Read = Omit<BindRequest, 'asked'>;

/** Some clients cannot ask for port 0, so labels and domains take any port. It tells the binds of a client apart. */
function labelled(text: string): Read {
  const labels = readLabels(text);
  const questions = labels.map((label) => ({ target: { label }, rule: `bind:${label.key}=${label.value}` }));
  return { questions, target: { labels } };
}

function host(text: string, port: number, hosts: readonly OwnedHost[], ports: Ports): Read {
  if (text === '' || text === '*') {
    throw new BindRefused('malformed', `name the host to bind, one of ${namesOf(hosts)}, or a label: key=value`);
  }
  const name = text.startsWith('*.') ? text : canonicalHost(isIPv6(text) ? `[${text}]` : text);
  const listen = hosts.find((owned) => owned.host === name);
  if (listen !== undefined) return ofAddress(listen, port, ports);
  // What `ssh -R 8000:...` asks for: its user expects a listener.
  const isAddress = name === 'localhost' || /^\[|\.\d+$/.test(name);
  if (!isAddress) return { questions: [{ target: { domain: name }, rule: `bind:${name}` }], target: { domain: name } };
  throw new BindRefused('not_served', `this gateway listens at ${namesOf(hosts)}, and not at ${name}`);
}

function ofAddress(listen: OwnedHost, port: number, ports: Ports): Read {
  const refusal = port === 0 ? undefined : ports.refusal('binds', port);
  if (refusal !== undefined) {
    throw new BindRefused('not_served', `port ${port} ${refusal}; port 0 takes a free one`);
  }
  const rule = port === 0 ? `bind:${listen.host}` : `bind:${listen.host}:${port}`;
  return { questions: [{ target: { address: `${listen.host}:${port}` }, rule }], target: listen };
}

const namesOf = (hosts: readonly OwnedHost[]): string => hosts.map((owned) => owned.host).join(', ');
