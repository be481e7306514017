import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { ENCRYPTION_PARAMETERS, type Encryptions, encryptionsOf } from './connection/encryption.js';

/** One host of DATABASE_URL. */
export interface HostConfig {
  /** For people: without user and password. */
  readonly name: string;
  readonly config: ClientConfig;
  readonly encryptions: Encryptions;
}

const PARTS = /^(postgres(?:ql)?:\/\/)((?:[^/?#]*@)?)([^/?#@]*)((?:\/[^?#]*)?)((?:\?[^#]*)?)$/i;
/** A port stands behind the last colon; an IPv6 address stands in brackets. */
const HOST_AND_PORT = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/;
/** Values that mean, or may mean, a server that writes. */
const WRITING = ['read-write', 'primary', 'any'];
/** Neither two hexadecimal digits nor, with those of other signs, UTF-8. */
const ESCAPES = 'write % / ? # @ in a user, password or name of a database as %25 %2F %3F %23 %40';

/**
 * Reads a URL as libpq does: it may name several hosts, separated by commas, in its authority or in its parameters
 * `host` and `port`. The messages complete the sentence "DATABASE_URL ..." and quote no part of it, since any part may
 * be a misplaced password.
 */
export function parseDatabaseUrl(url: string): readonly HostConfig[] {
  const parts = PARTS.exec(url);
  if (!/^postgres(ql)?:\/\//i.test(url)) throw new Error('must be a URL that starts with postgres:// or postgresql://');
  // node-postgres takes a part with a bare % as it stands, and then does not decode the rest of it either.
  if (parts === null || !isEncoded(url)) throw new Error(`is malformed; ${ESCAPES}`);
  const [, scheme = '', login = '', authority = '', path = '', query = ''] = parts;
  const parameters = new URLSearchParams(query);
  if (!WRITING.includes(parameters.get('target_session_attrs') ?? 'any')) {
    throw new Error('must not ask for a standby: remove target_session_attrs, or set it to read-write');
  }
  const encryptions = encryptionsOf(parameters);
  return hostsOf(authority, parameters).map(({ host, port }) => {
    const single = `${scheme}${login}${host}${port === '' ? '' : `:${port}`}${path}${otherParameters(parameters)}`;
    if (!URL.canParse(single)) throw new Error(`has a host, a port or a login that is malformed; ${ESCAPES}`);
    const config = parseIntoClientConfig(single.replaceAll(' ', '%20'));
    const isSocket = config.host?.startsWith('/') === true;
    return { name: port === '' ? host : `${host}:${port}`, config, encryptions: isSocket ? [false] : encryptions };
  });
}

/** Names the database for people. Never holds a password. */
export function describeDatabase(url: string): string {
  const hosts = parseDatabaseUrl(url).map(({ name }) => name || 'the local socket');
  return `PostgreSQL at ${hosts.join(', ')}${PARTS.exec(url)?.[4] ?? ''}`;
}

interface Host {
  readonly host: string;
  readonly port: string;
}

function hostsOf(authority: string, parameters: URLSearchParams): readonly Host[] {
  const named = parameters.get('host');
  const hosts = named === null ? authority.split(',').map(splitPort) : named.split(',').map(ofParameter);
  const ports = parameters.get('port')?.split(',');
  if (ports === undefined) return hosts;
  if (ports.length !== 1 && ports.length !== hosts.length) {
    throw new Error(`names ${hosts.length} hosts and ${ports.length} ports; name one port, or one for each host`);
  }
  return hosts.map(({ host }, n) => ({ host, port: ports[n] ?? ports[0] ?? '' }));
}

function splitPort(text: string): Host {
  const parts = HOST_AND_PORT.exec(text);
  if (parts === null)
    throw new Error(`has a malformed host; write host:port, and an IPv6 address in brackets; ${ESCAPES}`);
  return { host: parts[1] ?? '', port: parts[2] ?? '' };
}

/** A parameter holds an IPv6 address without brackets, and the path of a socket as it is. */
const ofParameter = (host: string): Host => ({
  host: host.includes(':') ? `[${host}]` : encodeURIComponent(host),
  port: '',
});

function isEncoded(url: string): boolean {
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}

function otherParameters(parameters: URLSearchParams): string {
  const others = new URLSearchParams(parameters);
  for (const name of ['host', 'port', 'target_session_attrs', ...ENCRYPTION_PARAMETERS]) others.delete(name);
  // A plus sign means a blank in a form only: node-postgres would keep it.
  return others.size === 0 ? '' : `?${others.toString().replaceAll('+', '%20')}`;
}
