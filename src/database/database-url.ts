import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { ENCRYPTION_PARAMETERS, type Encryption, encryptionOf } from './connection/encryption.js';

/** The server that DATABASE_URL names. */
export interface DatabaseServer {
  /** The name for people. It has no user and no password. */
  readonly name: string;
  readonly config: ClientConfig;
  readonly encryption: Encryption;
}

const PARTS = /^(postgres(?:ql)?:\/\/)((?:[^/?#]*@)?)([^/?#@]*)((?:\/[^?#]*)?)((?:\?[^#]*)?)$/i;
/** The port follows the last colon. An IPv6 address has brackets. */
const HOST_AND_PORT = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/;
/** Values of target_session_attrs that mean, or may mean, a server that writes. */
const WRITING = ['read-write', 'primary', 'any'];
/** What to write in a malformed URL. */
const ESCAPES = 'write % / ? # @ in a user, password or name of a database as %25 %2F %3F %23 %40';

/** Prisma's parameter. Without a refusal the tables would be made in another schema than the operator named. */
const NO_SCHEMA =
  'must not have ?schema=, which PostgreSQL does not know: write options=-c%20search_path%3DNAME instead, or remove it';

const ONE_HOST =
  'must name one host: let a proxy such as haproxy, or a managed endpoint, find the primary (docs/failover.md)';

/**
 * Reads a URL as libpq does, except that it refuses several hosts. The messages complete the sentence "DATABASE_URL
 * ..." and quote no part of the URL, since any part may be a misplaced password.
 */
export function parseDatabaseUrl(url: string): DatabaseServer {
  const parts = PARTS.exec(url);
  if (!/^postgres(ql)?:\/\//i.test(url)) throw new Error('must be a URL that starts with postgres:// or postgresql://');
  // node-postgres does not decode a part that contains a bare %.
  if (parts === null || !isEncoded(url)) throw new Error(`is malformed; ${ESCAPES}`);
  const [, scheme = '', login = '', authority = '', path = '', query = ''] = parts;
  const parameters = new URLSearchParams(query);
  if (!WRITING.includes(parameters.get('target_session_attrs') ?? 'any')) {
    throw new Error('must not ask for a standby: remove target_session_attrs, or set it to read-write');
  }
  if (parameters.has('schema')) throw new Error(NO_SCHEMA);
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

/**
 * The parameters `host` and `port` replace the host and port of the authority. In a parameter an IPv6 address has no
 * brackets.
 */
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
  // URLSearchParams writes a blank as a plus sign, which node-postgres would not decode.
  return others.size === 0 ? '' : `?${others.toString().replaceAll('+', '%20')}`;
}
