import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, FIRST_CALLS_FILE } from '../database/index.js';
import { messageOf } from '../kernel/error-message.js';
import type { FirstAccount } from './access/accounts/first-account.js';
import { bootstrapKeyOf, type Config } from './config/config.js';

/** A service that listens. */
export interface Started {
  readonly url: string;
  readonly oneTimeUrl?: string;
  readonly database: Pick<Database, 'description' | 'embedded'>;
  readonly firstAccount: FirstAccount;
}

const COMMAND = 'npx tunnel-access';
const CREATE_KEY = `${COMMAND} api-keys create`;
const NO_EFFECT = 'BOOTSTRAP_API_KEY takes effect only until the first account has had a key; it may be removed';

/**
 * The lines of a start for a log that no terminal shows: what is new about the key, and at last that the service is
 * ready.
 */
export function startupLines(started: Started, config: Config): [object, string][] {
  const { url, database, firstAccount } = started;
  const data = database.embedded === undefined ? {} : { data: database.embedded.clusterDir };
  const ready = `Tunnel access service is ready at ${url} on ${database.description}`;
  const hasCalls = database.embedded !== undefined && (firstAccount.isNew || firstAccount.adminKey !== undefined);
  const written = hasCalls ? writeFirstCalls(started, config) : undefined;
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
function writeFirstCalls(started: Started, config: Config): Written {
  const file = join(config.dataDir, FIRST_CALLS_FILE);
  try {
    // The file is made anew, since others may be able to read an old one.
    rmSync(file, { force: true });
    const steps = Object.entries(firstSteps(started, config)).map(([name, text]) => `${name.padEnd(10)}${text}\n`);
    writeFileSync(file, steps.join(''), { mode: 0o600, flag: 'wx' });
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

/** What a start prints on a terminal: where it is, and what to do first. Where the data is only a debug log says. */
export function startupBanner(app: Started, config: Config): string {
  const { url, database, firstAccount } = app;
  const { accountId, isNew } = firstAccount;
  const places = {
    database: database.description,
    ...(database.embedded !== undefined && { data: database.embedded.clusterDir }),
    account: `${accountId}${isNew ? ', created now' : ''}`,
  };
  const rows = { ...firstSteps(app, config), ...(config.logLevel === 'debug' && places) };
  const lines = Object.entries(rows).map(([name, text]) => `  ${name.padEnd(10)}${text}`);
  return ['', `Tunnel access service is ready at ${url}`, '', ...lines, ''].join('\n');
}

function firstSteps({ url, oneTimeUrl, firstAccount }: Started, config: Config): Readonly<Record<string, string>> {
  return {
    'log in': `${COMMAND} login ${url}`,
    'API key': keyText(firstAccount, config),
    ...(oneTimeUrl !== undefined && { console: `${oneTimeUrl}  (works once, for 5 min)` }),
    docs: `${url}/docs`,
    next: 'README.md',
  };
}

function keyText({ key, adminKey }: FirstAccount, config: Config): string {
  if (key === 'given') return 'your BOOTSTRAP_API_KEY';
  if (key === 'generated') return `${adminKey}  (for the login; shown only once)`;
  const given = bootstrapKeyOf(config) === undefined ? '' : `; ${NO_EFFECT}`;
  return `shown by the first start; another one: ${CREATE_KEY}${given}`;
}
