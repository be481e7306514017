import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, FIRST_CALLS_FILE } from '../database/index.js';
import { messageOf } from '../kernel/error-message.js';
import type { FirstAccount } from './access/accounts/first-account.js';
import { bootstrapKeyOf, type Config } from './config/config.js';

/** A service that listens. */
export interface Started {
  readonly url: string;
  readonly database: Pick<Database, 'description' | 'embedded'>;
  readonly firstAccount: FirstAccount;
}

/** An installed package has another command than a checkout. */
const COMMAND = import.meta.url.includes('/node_modules/') ? 'npx tunnel-access' : 'npm run cli --';
const CREATE_KEY = `${COMMAND} api-keys create`;
const KEPT_AS_HASH = 'key of the admin, shown only once: the service keeps only its hash';
const NO_EFFECT = 'BOOTSTRAP_API_KEY takes effect only until the first account has had a key; it may be removed';

/**
 * The lines of a start for a log that no terminal shows: what is new about the key, and at last that the service is
 * ready.
 */
export function startupLines(started: Started, config: Config, tunnel: readonly string[] = []): [object, string][] {
  const { url, database, firstAccount } = started;
  const data = database.embedded === undefined ? {} : { data: database.embedded.clusterDir };
  const ready = `Tunnel access service is ready at ${url} on ${database.description}`;
  const hasCalls = database.embedded !== undefined && (firstAccount.isNew || firstAccount.adminKey !== undefined);
  const written = hasCalls ? writeFirstCalls(started, config, tunnel) : undefined;
  const calls: [object, string][] =
    written === undefined || written.failure !== undefined
      ? []
      : [[{ file: written.file }, `first calls to try are in ${written.file}`]];
  return [
    ...firstKeyLines(firstAccount, config, written),
    [{ url, database: database.description, ...data }, ready],
    ...calls,
  ];
}

/** A log is kept and collected, so the key of the admin goes into a file that only this user can read. */
function writeFirstCalls({ url, firstAccount }: Started, config: Config, tunnel: readonly string[]): Written {
  const file = join(config.dataDir, FIRST_CALLS_FILE);
  try {
    // The file is made anew, since others may be able to read an old one.
    rmSync(file, { force: true });
    const text = [...firstCalls(url, firstAccount.adminKey), ...tunnel, ''].join('\n');
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
    return { file };
  } catch (error) {
    return { file, failure: messageOf(error) };
  }
}

interface Written {
  readonly file: string;
  readonly failure?: string;
}

function firstKeyLines(
  { accountId: account, isNew, key }: FirstAccount,
  config: Config,
  written: Written | undefined,
): [object, string][] {
  if (key === 'earlier') return bootstrapKeyOf(config) === undefined ? [] : [[{}, NO_EFFECT]];
  const texts = {
    generated:
      written?.failure === undefined
        ? `the admin's API key is in ${written?.file}, and nowhere else: keep it in a safe place, and remove the file`
        : `the admin's API key cannot be shown, since ${written.failure}: run \`${CREATE_KEY}\``,
    given: "the admin's API key is the value of BOOTSTRAP_API_KEY",
    none:
      `the account has no API key yet, and none is generated, since logs are kept: run \`${CREATE_KEY}\`, ` +
      'or set BOOTSTRAP_API_KEY or BOOTSTRAP_API_KEY_FILE and start again',
  } satisfies Record<string, string>;
  return [[{ account }, isNew ? `account ${account} was created now; ${texts[key]}` : texts[key]]];
}

/** What a start prints on a terminal: first calls to try, then the URL, the database and the account. */
export function startupBanner(app: Started, config: Config, tunnel: readonly string[] = []): string {
  const lines = [
    '',
    ...firstCalls(app.url, app.firstAccount.adminKey),
    ...tunnel,
    '',
    `Tunnel access service is ready at ${app.url}`,
    `  database  ${app.database.description}`,
    ...(app.database.embedded === undefined ? [] : [`  data      ${app.database.embedded.clusterDir}`]),
    ...keyLines(app.firstAccount, config),
    '',
  ];
  return lines.join('\n');
}

function keyLines({ accountId, isNew, key, adminKey }: FirstAccount, config: Config): string[] {
  const account = `  account   ${accountId}${isNew ? ', created now' : ''}`;
  if (key === 'given') return [`${account}; its admin's API key is your BOOTSTRAP_API_KEY`];
  if (key === 'generated') return [account, `  API key   ${adminKey}`, `            (${KEPT_AS_HASH})`];
  return [
    '  API key   shown by the first start',
    ...(bootstrapKeyOf(config) === undefined ? [] : [`            (${NO_EFFECT})`]),
  ];
}

/**
 * Lines to paste into a shell. The tour of the README goes on with the two variables; a later start leaves the key
 * alone. A new user may have no SSH key, or one that is refused, so the lines make a key pair.
 */
const firstCalls = (url: string, apiKey?: string): string[] => [
  apiKey === undefined
    ? `Try it in another terminal, with your key in API_KEY (to create another: ${CREATE_KEY}):`
    : 'Try it in another terminal:',
  `  export API=${url}${apiKey === undefined ? '' : ` API_KEY=${apiKey}`}`,
  '  curl -s "$API/ssh_credentials" -H "Authorization: Bearer $API_KEY"; echo',
  '  SSH_KEY=$(mktemp -d)/key; ssh-keygen -q -t ed25519 -N "" -C first -f "$SSH_KEY"',
  '  curl -s "$API/ssh_credentials" -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" \\',
  '    -d "{\\"public_key\\": \\"$(cut -d" " -f1,2 "$SSH_KEY.pub")\\"}"; echo',
];
