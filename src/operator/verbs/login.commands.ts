import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { CallerResource } from '../../api/caller/caller.resource.js';
import { fingerprintOfLine } from '../../kernel/fingerprint.js';
import { Interrupted } from '../../kernel/operator-error.js';
import { type Destination, serviceOf, withDestination } from '../http/destination.js';
import { parseUrl } from '../http/http-url.js';
import { loginFile, removeLogin, writeLogin } from '../http/login-file.js';
import { ServiceApi } from '../http/service-api.js';
import { tell } from '../print.js';
import { printItems } from '../table.js';

export function loginCommand(command: Command): void {
  command
    .argument('<url>', 'the URL of the service', parseUrl)
    .addHelpText(
      'after',
      '\nIt asks for the API key, or reads it from stdin, and keeps both in a file that\nonly you can read.\n\nExamples:\n  $ tunnel-access login http://127.0.0.1:8080\n  $ tunnel-access login https://tunnels.example.com < key',
    )
    .action(async (url: URL) => {
      const key = (await readKey(url)).trim();
      const api = ServiceApi.withKey(key, url, 'an API key has no blanks and no other letters than ASCII');
      const caller = await api.read<CallerResource>('caller');
      writeLogin({ url: api.name, key });
      tell(`logged in at ${api.name} as ${nameOf(caller)}, ${caller.role}; kept in ${loginFile()}`);
    });
}

export function logoutCommand(command: Command): void {
  command.addHelpText('after', '\nExamples:\n  $ tunnel-access logout').action(() => {
    if (!removeLogin()) return tell('there was no login');
    tell('logged out; the API key itself stays valid until somebody deletes it: DELETE /api_keys/ID');
  });
}

export function whoamiCommand(command: Command): void {
  withDestination(command, 'whoami').action(async (options: Destination) => {
    const api = await serviceOf(options);
    const caller = await api.read<CallerResource>('caller');
    const gateways = caller.gateways.map(({ address, host_keys }) => {
      const keys = host_keys.map(fingerprintOfLine).join(', ');
      return `${address ?? 'unknown'}, host key ${keys === '' ? 'unknown' : keys}`;
    });
    const columns = {
      SERVICE: () => api.name,
      CALLER: nameOf,
      ROLE: (one: CallerResource) => one.role,
      ACCOUNT: (one: CallerResource) => one.account_id,
      'API KEY': (one: CallerResource) => one.api_key_id ?? '-',
    };
    printItems([caller], columns, options);
    for (const one of gateways) tell(`gateway ${one}`);
    if (gateways.length === 0) tell('no gateway reports now');
  });
}

const nameOf = ({ id, name }: CallerResource): string => (name === '' ? id : `${name} (${id})`);

/** Asks on a terminal without showing what is typed. A key never stands in an argument, which others can see. */
async function readKey(url: URL): Promise<string> {
  if (process.stdin.isTTY !== true) return textOf(process.stdin);
  process.stderr.write(`API key for ${url.origin}: `);
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: unseen, terminal: true });
  try {
    return await new Promise<string>((resolve, reject) => {
      terminal.once('line', resolve);
      terminal.once('SIGINT', () => reject(new Interrupted('not logged in')));
      terminal.once('close', () => reject(new Interrupted('not logged in')));
    });
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
