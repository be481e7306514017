import type { Command } from 'commander';
import { UsageError } from '../../kernel/operator-error.js';
import { JSON_OPTION, type Printing } from '../table.js';
import { parseUrl } from './http-url.js';
import { readLogin } from './login-file.js';
import { ServiceApi } from './service-api.js';

/** The options of each command that calls the service. */
export interface Destination extends Printing {
  readonly url?: URL;
  readonly keyFile?: string;
}

const [URL_OF_SERVICE, KEY] = ['TUNNEL_ACCESS_URL', 'TUNNEL_ACCESS_KEY'];

const HELP = `
The service and the API key come from one place: both from the options, else
both from ${URL_OF_SERVICE} and ${KEY}, else both from login.`;

/** Gives a command the options of a destination, its examples, and where URL and key come from. */
export const withDestination = (command: Command, ...examples: readonly string[]): Command =>
  withServiceExamples(command, ...examples)
    .option('--url <url>', 'the URL of the service, with --key-file', parseUrl)
    .option('--key-file <file>', 'file with the API key, with --url')
    .option(...JSON_OPTION);

/** The same for a command that only has commands below it. */
export const withServiceExamples = (command: Command, ...examples: readonly string[]): Command =>
  command.addHelpText(
    'after',
    ['', 'Examples:', ...examples.map((one) => `  $ tunnel-access ${one}`), HELP].join('\n'),
  );

/** A key never goes to a URL that it was not given for. Throws UsageError if there is no destination, or half of one. */
export async function serviceOf({ url, keyFile }: Destination): Promise<ServiceApi> {
  if (url !== undefined || keyFile !== undefined) {
    if (url === undefined || keyFile === undefined) throw half('--url', '--key-file');
    return ServiceApi.withKeyIn(keyFile, url);
  }
  const { [URL_OF_SERVICE]: given = '', [KEY]: key = '' } = process.env;
  if (given !== '' || key !== '') {
    if (given === '' || key === '') throw half(URL_OF_SERVICE, KEY);
    return ServiceApi.withKey(key, urlIn(given), `${KEY} must hold an API key and nothing else`);
  }
  const login = readLogin();
  if (login !== undefined) return ServiceApi.withKey(login.key, urlIn(login.url), 'the login holds no API key');
  throw new UsageError(
    `no service is chosen: run tunnel-access login URL, or set ${URL_OF_SERVICE} and ${KEY}, or give --url and --key-file`,
  );
}

const half = (one: string, other: string): UsageError =>
  new UsageError(`${one} and ${other} belong together: a key goes only to the service that it was given for`);

function urlIn(text: string): URL {
  try {
    return parseUrl(text);
  } catch (error) {
    throw new UsageError(`${URL_OF_SERVICE}: ${error instanceof Error ? error.message : error}`);
  }
}
