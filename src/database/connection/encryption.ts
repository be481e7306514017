import { existsSync, readFileSync } from 'node:fs';
import { type ConnectionOptions, createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { messageOf } from '../../kernel/error-message.js';

/** How a connection is encrypted. False means that it is not. */
export type Encryption = false | ConnectionOptions;

const MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
/**
 * With these modes the connection would go on without encryption if the server, or an attacker on the way, asks for it.
 */
const LAX_MODES = ['allow', 'prefer'];
type Mode = (typeof MODES)[number];

/** The values of the parameter `ssl`: libpq takes `true`, as JDBC writes it, and node-postgres takes all of them. */
const MODE_OF_SSL = new Map([
  ['true', 'require'],
  ['1', 'require'],
  ['false', 'disable'],
  ['0', 'disable'],
]);
/** node-postgres does not support these parameters, so the service refuses them. */
const UNSUPPORTED = ['sslcrl', 'sslcrldir', 'ssl_min_protocol_version', 'ssl_max_protocol_version'];
/** The CA certificates of the system: of Debian, Red Hat, SUSE, and Alpine or macOS. */
const SYSTEM_CAS = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/** Names of the parameters that this file reads. */
export const ENCRYPTION_PARAMETERS = [
  'ssl',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'sslpassword',
  'uselibpqcompat',
];

/**
 * Reads libpq's TLS parameters from a URL, with the meaning that libpq gives them, but never the folder ~/.postgresql.
 * Without parameters a connection is encrypted unless it stays on this machine. The messages complete the sentence
 * "DATABASE_URL ...".
 */
export function encryptionOf(parameters: URLSearchParams, isThisMachine: boolean): Encryption {
  const parameter = (name: string): string | undefined => parameters.getAll(name).at(-1);
  const unsupported = UNSUPPORTED.find((name) => parameter(name) !== undefined);
  if (unsupported !== undefined) throw new Error(`must not have ${unsupported}, which the service does not support`);
  const usesSystem = parameter('sslrootcert') === 'system';
  const mode = modeOf(parameter, usesSystem ? 'verify-full' : isThisMachine ? 'disable' : 'require');
  if (usesSystem && mode !== 'verify-full') throw new Error('must have sslmode=verify-full with sslrootcert=system');
  if (mode === 'disable') return false;
  const { ca, ...check } = serverCheck(mode, parameter('sslrootcert'));
  return { ...check, secureContext: contextOf({ ...clientCertificate(parameter), ca }) };
}

type Parameter = (name: string) => string | undefined;

function modeOf(parameter: Parameter, fallback: Mode): Mode {
  const ssl = parameter('ssl');
  // node-postgres also reads other PG variables for what the URL leaves out.
  const inherited = process.env.PGSSLMODE || fallback;
  const given = parameter('sslmode') ?? (ssl === undefined ? inherited : (MODE_OF_SSL.get(ssl) ?? ssl));
  if (LAX_MODES.includes(given)) {
    throw new Error(
      `must not have sslmode=${given}: write sslmode=require, or sslmode=disable on a network that you trust`,
    );
  }
  const mode = MODES.find((known) => known === given);
  if (mode === undefined) {
    throw new Error(
      `must have one of these values as sslmode: ${MODES.join(', ')} (instead of no-verify, use require)`,
    );
  }
  return mode;
}

/**
 * As in libpq, every mode uses a given file of CAs, and only verify-full compares the name of the host. Without a file,
 * verify-full trusts the CAs that Node trusts.
 */
function serverCheck(mode: Mode, rootCert: string | undefined): ConnectionOptions {
  if (rootCert === 'system') return { ca: systemCas() };
  const ca = rootCert === undefined ? undefined : fileOf('sslrootcert', rootCert);
  if (mode === 'verify-full') return { ca };
  if (ca !== undefined) return { ca, checkServerIdentity: () => undefined };
  if (mode === 'verify-ca') throw new Error('needs sslrootcert beside sslmode=verify-ca: the file of the CA to trust');
  return { rejectUnauthorized: false };
}

/** The CAs of the system. Undefined: the CAs that come with Node. */
function systemCas(): string | undefined {
  const file = [process.env.SSL_CERT_FILE ?? '', ...SYSTEM_CAS].find((path) => path !== '' && existsSync(path));
  return file === undefined ? undefined : readFileSync(file, 'utf8');
}

function clientCertificate(parameter: Parameter): ConnectionOptions {
  const [cert, key, passphrase] = ['sslcert', 'sslkey', 'sslpassword'].map(parameter);
  if (cert === undefined && key === undefined) return {};
  if (cert === undefined || key === undefined) throw new Error('needs both sslcert and sslkey, or neither');
  const files = { cert: fileOf('sslcert', cert), key: fileOf('sslkey', key) };
  return passphrase === undefined ? files : { ...files, passphrase };
}

function fileOf(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = 'it is no path' } = error as NodeJS.ErrnoException;
    throw new Error(`names a file in ${name} that cannot be read (${code})`);
  }
}

/** The context of all connections whose URL names no files. */
let withoutFiles: SecureContext | undefined;

/** Made before the first connection, so that bad files are refused at the start. */
function contextOf(files: SecureContextOptions): SecureContext {
  if (Object.values(files).every((file) => file === undefined)) {
    withoutFiles ??= createSecureContext();
    return withoutFiles;
  }
  try {
    return createSecureContext(files);
  } catch (error) {
    throw new Error(`names files in sslcert and sslkey that OpenSSL refuses (${messageOf(error)})`);
  }
}
