import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { ENCRYPTION_PARAMETERS, type Encryption, encryptionOf } from './connection/encryption.js';

/** The server that DATABASE_URL names. */
export interface DatabaseServer {
  /** For people: without user and password. */
  readonly name: string;
  readonly config: ClientConfig;
  readonly encryption: Encryption;
}

const PARTS = /^(postgres(?:ql)?:\/\/)((?:[^/?#]*@)?)([^/?#@]*)((?:\/[^?#]*)?)((?:\?[^#]*)?)$/i;
/** A port stands behind the last colon; an IPv6 address stands in brackets. */
const HOST_AND_PORT = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/;
/** Values that mean, or may mean, a server that writes. */
const WRITING = ['read-write', 'primary', 'any'];
/** Neither two hexadecimal digits nor, with those of other signs, UTF-8. */
const ESCAPES = 'write % / ? # @ in a user, password or name of a database as %25 %2F %3F %23 %40';

const ONE_HOST =
  'must name one host: let a proxy such as haproxy, or a managed endpoint, find the primary (docs/failover.md)';

/**
 * Reads a URL as libpq does, but for several hosts. The messages complete the sentence "DATABASE_URL ..." and quote no part of
 * it, since any part may be a misplaced password.
 */
export function parseDatabaseUrl(url: string): DatabaseServer {
  const parts = PARTS.exec(url);
  if (!/^postgres(ql)?:\/\//i.test(url)) throw new Error('must be a URL that starts with postgres:// or postgresql://');
  // node-postgres takes a part with a bare % as it stands, and then does not decode the rest of it either.
  if (parts === null || !isEncoded(url)) throw new Error(`is malformed; ${ESCAPES}`);
  const [, scheme = '', login = '', authority = '', path = '', query = ''] = parts;
  const parameters = new URLSearchParams(query);
  if (!WRITING.includes(parameters.get('target_session_attrs') ?? 'any')) {
    throw new Error('must not ask for a standby: remove target_session_attrs, or set it to read-write');
  }
  const { host, port } = hostOf(authority, parameters);
  const single = `${scheme}${login}${host}${port === '' ? '' : `:${port}`}${path}${otherParameters(parameters)}`;
  if (!URL.canParse(single)) throw new Error(`has a host, a port or a login that is malformed; ${ESCAPES}`);
  const config = parseIntoClientConfig(single.replaceAll(' ', '%20'));
  const isHere = isThisMachine(config.host ?? process.env.PGHOST ?? '');
  return { name: port === '' ? host : `${host}:${port}`, config, encryption: encryptionOf(parameters, isHere) };
}

/** Names the database for people. Never holds a password. */
export const describeDatabase = (url: string): string =>
  `PostgreSQL at ${parseDatabaseUrl(url).name || 'the local socket'}${PARTS.exec(url)?.[4] ?? ''}`;

const isThisMachine = (host: string): boolean =>
  host === '' || host.startsWith('/') || /^(localhost|127\.\d+\.\d+\.\d+|::1)$/i.test(host);

/** The parameters `host` and `port` replace what the authority has. A parameter has an IPv6 address without brackets. */
function hostOf(authority: string, parameters: URLSearchParams): { readonly host: string; readonly port: string } {
  const named = parameters.get('host');
  if ([authority, named ?? '', parameters.get('port') ?? ''].some((text) => text.includes(',')))
    throw new Error(ONE_HOST);
  const parts = HOST_AND_PORT.exec(authority);
  if (parts === null) {
    throw new Error(`has a malformed host; write host:port, and an IPv6 address in brackets; ${ESCAPES}`);
  }
  const [, ofAuthority = '', portOfAuthority = ''] = parts;
  const host = named === null ? ofAuthority : named.includes(':') ? `[${named}]` : encodeURIComponent(named);
  return { host, port: parameters.get('port') ?? (named === null ? portOfAuthority : '') };
}

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
