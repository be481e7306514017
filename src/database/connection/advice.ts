import { messageOf } from '../../kernel/error-message.js';
import { PostgresFailure } from '../failure.js';

/** What an operator can do about a failed connection. `what` matches the code and message of the failure. */
interface Advice {
  readonly what: RegExp;
  /** Follows the message of the failure. `URL` stands for the setting that names the database. */
  readonly wayOut: string;
  /** The failure may end by itself. Absent: waiting does not help. */
  readonly isTransient?: true;
}

const ADVICE: readonly Advice[] = [
  {
    what: /^ECONNREFUSED/,
    wayOut: 'no server listens there; start it, or correct the host and the port in URL',
    isTransient: true,
  },
  { what: /^ENOTFOUND/, wayOut: 'no such host; correct its name in URL' },
  { what: /^(EACCES|EPERM)/, wayOut: 'let the user of this process open the socket' },
  { what: /^28P01/, wayOut: 'correct the user and the password in URL' },
  { what: /password must be a/, wayOut: 'the server asks for a password; add it to URL' },
  {
    what: /^28/,
    wayOut:
      "make the role, and allow the connection in the server's pg_hba.conf, where hostssl refuses sslmode=disable",
  },
  { what: /^3D000/, wayOut: 'create the database, or correct its name in URL' },
  { what: /^42501/, wayOut: 'give the role the rights that docs/database.md names, or set MIGRATION_DATABASE_URL' },
  {
    what: /does not support SSL/,
    wayOut: 'switch TLS on at the server (ssl = on), or set sslmode=disable in URL on a network that you trust',
  },
  {
    what: /^(DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|CERT_SIGNATURE|CERT_UNTRUSTED)/,
    wayOut: "the CA of the server's certificate is not trusted; name its file as sslrootcert in URL",
  },
  {
    what: /^ERR_TLS_CERT_ALTNAME/,
    wayOut: "use a host in URL that the server's certificate names, or sslmode=verify-ca with the file of its CA",
  },
  { what: /^CERT_/, wayOut: "put the server's certificate right" },
  { what: /^(ERR_SSL|ERR_TLS|EPROTO)|establishing an SSL/, wayOut: 'TLS failed; see the log of the server' },
  {
    what: /server is read-only/,
    wayOut: 'set default_transaction_read_only=off for the server, the database or the role',
  },
  {
    what: /server is a standby/,
    wayOut: 'name the primary in URL, or a proxy that finds it (docs/failover.md)',
    isTransient: true,
  },
];

/**
 * The message of an error, with what the operator can do about it. `setting` is the name of the setting with the URL.
 */
export function withAdvice(error: unknown, setting: string): string {
  const ways = rootsOf(error).map((root) => adviceOn(root)?.wayOut.replaceAll(/\bURL\b/g, setting));
  const distinct = [...new Set(ways)].filter((way) => way !== undefined);
  return [messageOf(error), ...distinct].join('; ');
}

/** Whether a later attempt to connect may succeed without a change by the operator. */
export const isTransient = (error: unknown): boolean =>
  rootsOf(error).some((root) => {
    const failure = PostgresFailure.of(root);
    const advice = adviceOn(root);
    return advice === undefined ? !failure.isFromServer || failure.isConnectionLoss : advice.isTransient === true;
  });

const adviceOn = (error: unknown): Advice | undefined => ADVICE.find(({ what }) => what.test(codeAndMessage(error)));

function codeAndMessage(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? `${error.code} ` : '';
  return `${code}${messageOf(error)}`;
}

/** The causes of an error. A host with several addresses has one for each. */
function rootsOf(error: unknown): readonly unknown[] {
  if (error instanceof AggregateError) return error.errors.flatMap(rootsOf);
  return error instanceof Error && error.cause !== undefined ? rootsOf(error.cause) : [error];
}
