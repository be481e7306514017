import type { NewAccount } from './access/accounts/create-account.js';
import type { Config } from './config.js';
import type { Database } from './database/database.js';

interface Started {
  readonly url: string;
  readonly database: Pick<Database, 'description' | 'embedded'>;
  readonly newAccount: NewAccount | undefined;
}

/** What a start prints for a person: the URL of the service, its database, and a first call to try. */
export function startupBanner(app: Started, config: Config): string {
  const lines = [
    '',
    `Tunnel access service is ready at ${app.url}`,
    `  database  ${app.database.description}`,
    ...(app.database.embedded === undefined ? [] : [`  data      ${app.database.embedded.clusterDir}`]),
    ...keyLines(app, config),
    '',
  ];
  return lines.join('\n');
}

function keyLines({ url, newAccount }: Started, config: Config): string[] {
  if (newAccount === undefined) {
    return [
      '  API key   printed by the first start; to create another: npm run cli -- api-keys create',
      ...(config.bootstrapApiKey === undefined
        ? []
        : ['            (BOOTSTRAP_API_KEY takes effect only before the first account exists)']),
      ...firstCall(url),
    ];
  }
  if (config.bootstrapApiKey !== undefined) {
    return [
      `  account   ${newAccount.accountId}, created now; its admin's API key is your BOOTSTRAP_API_KEY`,
      ...firstCall(url),
    ];
  }
  return [
    `  account   ${newAccount.accountId}, created now`,
    `  API key   ${newAccount.adminKey}`,
    '            (key of the admin, shown only once: the service keeps only its hash)',
    ...firstCall(url, newAccount.adminKey),
  ];
}

/** Lines to paste into a shell. The tour of the README goes on with the two variables; a later start leaves the key alone. */
const firstCall = (url: string, apiKey?: string): string[] => [
  '',
  'Try it in another terminal:',
  `  export API=${url}${apiKey === undefined ? '' : ` API_KEY=${apiKey}`}`,
  '  curl -s "$API/ssh_credentials" -H "Authorization: Bearer $API_KEY"',
];
