import type { IncomingMessage } from 'node:http';
import { addressText, canonicalHost, ParseError, parseAddress } from '../../rules/index.js';
import type { Endpoint } from '../endpoint.js';

/** The gateway refuses a request with 400. The message is a sentence for the visitor. */
export class BadRequest extends Error {
  override name = 'BadRequest';
}

/** A request as the gateway writes it anew. */
export interface AskedRequest {
  /** Canonical, without a port. */
  readonly host: string;
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly source: Endpoint;
  /** Whether it asks for another protocol. */
  readonly switches: boolean;
}

/** Browsers and proxies send some 50. Thousands of short ones in 16 KiB fill 225 KB of memory. */
export const MAX_HEADERS = 200;

type Peer = Pick<IncomingMessage['socket'], 'remoteAddress' | 'remotePort'>;
type Pair = readonly [name: string, value: string];

const HOP_BY_HOP: readonly string[] = [
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authenticate', 'proxy-authorization', 'http2-settings'],
];
/** What the gateway writes itself, or has answered. */
const WRITTEN: readonly string[] = ['host', 'content-length', 'expect'];
/** Programs read them as the truth about a visitor, also with `_` in place of `-`. */
const FORWARDED = /^(x-forwarded-.*|forwarded|x-real-ip)$/;
/** Node gives a request of another method a body, even if its length is 0. */
const WITHOUT_BODY: readonly string[] = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'];

/** Reads a request of a visitor. Throws BadRequest. */
export function readRequest(
  request: Pick<IncomingMessage, 'rawHeaders' | 'url' | 'method'> & { readonly socket: Peer },
  isProxy: (address: string) => boolean,
  isUpgrade: boolean,
): AskedRequest {
  const pairs = pairsOf(request.rawHeaders);
  if (pairs.length > MAX_HEADERS) throw new BadRequest(`the request has more than ${MAX_HEADERS} headers`);
  const hostHeader = only(pairs, 'host');
  const { authority, path } = targetOf(request.url ?? '');
  const host = hostOf(hostHeader);
  if (authority !== undefined && authority.toLowerCase() !== hostHeader.toLowerCase())
    throw new BadRequest('the request names two hosts');
  const framing = framingOf(pairs, request.method ?? '', isUpgrade);
  const switches = framing.some(([name]) => name === 'Upgrade');
  const { headers, source } = forwardedOf(pairs, request.socket, hostHeader, isProxy);
  const kept = endToEnd(pairs).filter(([name]) => !WRITTEN.includes(name.toLowerCase()) && !isForwarded(name));
  return {
    host,
    path,
    headers: [['Host', hostHeader], ...kept, ...headers, ...framing].flat() as string[],
    source,
    switches,
  };
}

/** The headers that a proxy passes on: not those of one connection, nor those that `Connection` names. */
export function endToEnd(pairs: readonly Pair[]): readonly Pair[] {
  const named = valuesOf(pairs, 'connection').flatMap((value) =>
    value.split(',').map((one) => one.trim().toLowerCase()),
  );
  const left = new Set([...HOP_BY_HOP, ...named]);
  return pairs.filter(([name]) => !left.has(name.toLowerCase()));
}

export function pairsOf(rawHeaders: readonly string[]): readonly Pair[] {
  const pairs: Pair[] = [];
  for (let n = 0; n + 1 < rawHeaders.length; n += 2) pairs.push([rawHeaders[n] ?? '', rawHeaders[n + 1] ?? '']);
  return pairs;
}

const valuesOf = (pairs: readonly Pair[], wanted: string): readonly string[] =>
  pairs.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);

function only(pairs: readonly Pair[], name: string): string {
  const [value, ...others] = valuesOf(pairs, name);
  if (value !== undefined && others.length === 0) return value;
  throw new BadRequest(`the request must have one header ${name}`);
}

function targetOf(url: string): { readonly authority?: string; readonly path: string } {
  const [, authority, path = ''] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(url) ?? [];
  // Node refuses to write other characters.
  if (/[^\x21-\x7e]/.test(url)) throw new BadRequest('the path must be ASCII');
  if (authority !== undefined) return { authority, path: path.startsWith('/') ? path : `/${path}` };
  if (url.startsWith('/') || url === '*') return { path: url };
  throw new BadRequest('the request has a target that this gateway does not serve');
}

function hostOf(header: string): string {
  const [, name] = /^([^:@/]+)(?::\d{1,5})?$/.exec(header) ?? [];
  try {
    if (name !== undefined) return canonicalHost(name);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
  }
  throw new BadRequest('the header host is no host name');
}

/** Says where the body ends, in one way. */
function framingOf(pairs: readonly Pair[], method: string, isUpgrade: boolean): readonly Pair[] {
  const lengths = valuesOf(pairs, 'content-length');
  const codings = valuesOf(pairs, 'transfer-encoding');
  if (lengths.length + codings.length > 1) throw new BadRequest('the request says twice where its body ends');
  const [length] = lengths;
  const [coding] = codings;
  const upgrade = isUpgrade ? upgradeOf(pairs, length ?? coding) : [];
  if (upgrade.length > 0) return upgrade;
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw new BadRequest('the request has a transfer coding other than chunked');
  if (coding !== undefined) return [['Transfer-Encoding', 'chunked']];
  if (length !== undefined) return [['Content-Length', length]];
  return WITHOUT_BODY.includes(method) ? [] : [['Content-Length', '0']];
}

/**
 * The bytes after an upgrade belong to the new protocol, so the request has no body. An upgrade to HTTP/2 or TLS ends
 * here: programs that offer it, such as `curl --http2`, take an answer in HTTP/1.1 too (RFC 9110, section 7.8).
 */
function upgradeOf(pairs: readonly Pair[], body: string | undefined): readonly Pair[] {
  const upgrade = only(pairs, 'upgrade');
  const isHttp = upgrade.split(',').some((one) => /^(h2c|http\/|tls\/)/i.test(one.trim()));
  if (body !== undefined) throw new BadRequest('the gateway passes no upgrade with a body on');
  if (isHttp) return [];
  return [
    ['Connection', 'Upgrade'],
    ['Upgrade', upgrade],
  ];
}

const isForwarded = (name: string): boolean => FORWARDED.test(name.toLowerCase().replaceAll('_', '-'));

/** The longest real chains have some ten. */
const MAX_HOPS = 100;

/** The hops nearest to this gateway that are addresses: whoever wrote another one may have written all before it. */
function hopsOf(said: string): readonly string[] {
  const nearest = said.split(',').slice(-MAX_HOPS);
  const parsed = nearest.map((hop) => parseAddress(hop.trim()));
  return parsed.slice(parsed.lastIndexOf(undefined) + 1).flatMap((one) => (one ? addressText(one) : []));
}

/** A proxy of GATEWAY_HTTP_PROXIES is believed. What others say of the visitor is removed. */
function forwardedOf(
  pairs: readonly Pair[],
  { remoteAddress = '', remotePort = 0 }: Peer,
  host: string,
  isProxy: (address: string) => boolean,
): { readonly headers: readonly Pair[]; readonly source: Endpoint } {
  const peer = remoteAddress.replace(/^::ffff:(?=\d+\.)/, '').replace(/%.*/, '');
  const isBelieved = isProxy(peer);
  const said = (name: string): string => (isBelieved ? valuesOf(pairs, name).join(', ') : '');
  const chain = [...hopsOf(said('x-forwarded-for')), peer];
  const client = chain.findLast((hop) => !isProxy(hop)) ?? peer;
  return {
    headers: [
      ['X-Forwarded-For', chain.join(', ')],
      ['X-Forwarded-Proto', said('x-forwarded-proto') === 'https' ? 'https' : 'http'],
      ['X-Forwarded-Host', said('x-forwarded-host') || host],
    ],
    source: { address: client, port: client === peer ? remotePort : 0 },
  };
}
