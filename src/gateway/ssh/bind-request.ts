import { isIPv6 } from 'node:net';
import { Problem } from '../../kernel/problem.js';
import {
  aliasesOf,
  canonicalHost,
  type OwnedHost,
  ParseError,
  parseBindTarget,
  type TunnelDomain,
} from '../../rules/index.js';
import type { Ports } from '../ports.js';
import type { TargetBody } from '../service-client.js';
import { BindRefused } from '../tunnels/bind-refused.js';
import type { Label } from '../tunnels/open-tunnel.js';
import { readLabels } from './labels.js';

/** The length of the longest rule that the service stores. */
const MAX_ADDRESS_LENGTH = 512;

/** Each means the port of GATEWAY_HTTP_LISTEN, or of the proxy in front of it. */
const HTTP_PORTS: readonly number[] = [0, 80, 443];

/** A bind that a client asks for. */
export interface BindRequest {
  /** As the client sent it. Its connections name the bind by these words. */
  readonly asked: { readonly address: string; readonly port: number };
  /** What to ask about: each label, or the host. All must be permitted. */
  readonly questions: readonly TargetBody[];
  /** A host of this gateway with the address to listen at, or a domain or labels without a listener. */
  readonly target: OwnedHost | { readonly domain: string } | { readonly labels: readonly Label[] };
}

/** What a gateway serves, to a client. */
interface Serving {
  readonly hosts: readonly OwnedHost[];
  readonly ports: Ports;
  /** A domain serves HTTP. */
  readonly isHttp: boolean;
  /** The domain of the service with the name of the client's credential below it. */
  readonly below?: { readonly domain: TunnelDomain; readonly givenName: string } | undefined;
}

/** Reads a bind address of `ssh -R`: `key=value`, or a host. Throws BindRefused. */
export function readBindRequest(address: string, port: number, serving: Serving): BindRequest {
  if (address.length > MAX_ADDRESS_LENGTH) {
    throw new BindRefused(
      'malformed',
      `the address has ${address.length} characters; the most is ${MAX_ADDRESS_LENGTH}`,
    );
  }
  try {
    const request = address.includes('=') ? labelled(address) : host(address, port, serving);
    // The service gets only well-formed targets, so that it refuses them only for their rights.
    for (const question of request.questions) parseBindTarget(question);
    return { asked: { address, port }, ...request };
  } catch (error) {
    if (error instanceof ParseError)
      throw new BindRefused('malformed', `'${address}' cannot be bound: ${error.message}`);
    if (error instanceof Problem) throw new BindRefused('malformed', error.message);
    throw error;
  }
}

type Read = Omit<BindRequest, 'asked'>;

/**
 * Labels take any port, which only tells the binds of a client apart: some clients cannot ask for port 0.
 */
function labelled(text: string): Read {
  const labels = readLabels(text);
  return { questions: labels.map((label) => ({ label })), target: { labels } };
}

function host(text: string, port: number, { hosts, ports, isHttp, below }: Serving): Read {
  const isGiven = ['', '*', 'localhost'].includes(text) && (port === 80 || port === 443);
  if (isHttp && below !== undefined && isGiven) return domain(below.givenName);
  if (text === '' || text === '*') {
    throw new BindRefused('malformed', `name the host to bind, one of ${namesOf(hosts)}, or a label: key=value`);
  }
  const name = text.startsWith('*.')
    ? `*.${canonicalHost(text.slice(2))}`
    : canonicalHost(isIPv6(text) ? `[${text}]` : text);
  const listen = hosts.find((owned) => owned.host === name);
  if (listen !== undefined) return ofAddress(listen, port, hosts, ports);
  // `ssh -R 8000:...` asks for localhost, and its user expects a listener.
  const isAddress = name === 'localhost' || /^\[|\.\d+$/.test(name);
  if (!isAddress && isHttp && !HTTP_PORTS.includes(port)) {
    throw new BindRefused('not_served', `a domain serves HTTP, at the ports 0, 80 and 443, and not at ${port}`);
  }
  if (!isAddress)
    return domain(isHttp && below !== undefined && !name.includes('.') ? `${name}.${below.domain.host}` : name);
  throw new BindRefused('not_served', `this gateway listens at ${namesOf(hosts)}, and not at ${name}`);
}

const domain = (name: string): Read => ({ questions: [{ domain: name }], target: { domain: name } });

function ofAddress(listen: OwnedHost, port: number, hosts: readonly OwnedHost[], ports: Ports): Read {
  const refusal = port === 0 ? undefined : ports.refusal('binds', port);
  if (refusal !== undefined) {
    throw new BindRefused('not_served', `port ${port} ${refusal}; port 0 takes a free one`);
  }
  const question = port === 0 ? { address: `${listen.host}:0` } : questionAt(listen, port, hosts);
  return { questions: [question], target: listen };
}

/** What to ask about a port of a host. */
export function questionAt(listen: OwnedHost, port: number, hosts: readonly OwnedHost[]): TargetBody {
  const aliases = aliasesOf(listen, hosts).map((host) => `${host}:${port}`);
  return { address: `${listen.host}:${port}`, ...(aliases.length > 0 && { aliases }) };
}

const namesOf = (hosts: readonly OwnedHost[]): string => hosts.map((owned) => owned.host).join(', ');
