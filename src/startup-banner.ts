import type { FirstAccount } from './access/accounts/first-account.js';
import { bootstrapKeyOf, type Config } from './config.js';
import type { Database } from './database/database.js';

/** A service that listens, in one process or in several. */
export interface Started {
  readonly url: string;
  readonly database: Pick<Database, 'description' | 'embedded'>;
  readonly firstAccount: FirstAccount;
}

/** The commands of an installed package have another name than those of a checkout. */
const COMMAND = import.meta.url.includes('/node_modules/') ? 'npx tunnel-access' : 'npm run cli --';
const CREATE_KEY = `${COMMAND} api-keys create`;
const KEPT_AS_HASH = 'key of the admin, shown only once: the service keeps only its hash';
const NO_EFFECT = 'BOOTSTRAP_API_KEY takes effect only until the first account has had a key; it may be removed';

/** What a start says in a log that no terminal shows: what is new about its key, and at last that the service is ready. */
export function startupLines({ url, database, firstAccount }: Started, config: Config): [object, string][] {
  const data = database.embedded === undefined ? {} : { data: database.embedded.clusterDir };
  const ready = `Tunnel access service is ready at ${url} on ${database.description}`;
  return [...firstKeyLines(firstAccount, config), [{ url, database: database.description, ...data }, ready]];
}

function firstKeyLines({ accountId: account, isNew, key, adminKey }: FirstAccount, config: Config): [object, string][] {
  if (key === 'earlier') return bootstrapKeyOf(config) === undefined ? [] : [[{}, NO_EFFECT]];
  const lines = {
    generated: [{ account, api_key: adminKey }, KEPT_AS_HASH],
    given: [{ account }, "the admin's API key is that of BOOTSTRAP_API_KEY"],
    none: [
      { account },
      `the account has no API key yet, and none is generated, since logs are kept: run \`${CREATE_KEY}\`, ` +
        'or set BOOTSTRAP_API_KEY or BOOTSTRAP_API_KEY_FILE and start again',
    ],
  } satisfies Record<string, [object, string]>;
  const [fields, text] = lines[key];
  return [[fields, isNew ? `account ${account} was created now; ${text}` : text]];
}

/** What a start prints on a terminal: the URL of the service, its database, and first calls to try. */
export function startupBanner(app: Started, config: Config): string {
  const lines = [
    '',
    `Tunnel access service is ready at ${app.url}`,
    `  database  ${app.database.description}`,
    ...(app.database.embedded === undefined ? [] : [`  data      ${app.database.embedded.clusterDir}`]),
    ...keyLines(app.firstAccount, config),
    ...firstCalls(app.url, app.firstAccount.adminKey),
    '',
  ];
  return lines.join('\n');
}

function keyLines({ accountId, isNew, key, adminKey }: FirstAccount, config: Config): string[] {
  const account = `  account   ${accountId}${isNew ? ', created now' : ''}`;
  if (key === 'given') return [`${account}; its admin's API key is your BOOTSTRAP_API_KEY`];
  if (key === 'generated') return [account, `  API key   ${adminKey}`, `            (${KEPT_AS_HASH})`];
  return [
    `  API key   printed by the first start; to create another: ${CREATE_KEY}`,
    ...(bootstrapKeyOf(config) === undefined ? [] : [`            (${NO_EFFECT})`]),
  ];
}

/**
 * Lines to paste into a shell. The tour of the README goes on with the two variables; a later start leaves the key
 * alone. A new user may have no SSH key, or one that is refused, so the lines make a key pair.
 */
const firstCalls = (url: string, apiKey?: string): string[] => [
  '',
  'Try it in another terminal:',
  `  export API=${url}${apiKey === undefined ? '' : ` API_KEY=${apiKey}`}`,
  '  curl -s "$API/ssh_credentials" -H "Authorization: Bearer $API_KEY"; echo',
  '  SSH_KEY=$(mktemp -d)/key; ssh-keygen -q -t ed25519 -N "" -C first -f "$SSH_KEY"',
  '  curl -s "$API/ssh_credentials" -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" \\',
  '    -d "{\\"public_key\\": \\"$(cat "$SSH_KEY.pub")\\"}"; echo',
];
