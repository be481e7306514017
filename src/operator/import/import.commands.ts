import { type Command, InvalidArgumentError } from 'commander';
import { timeZone } from '../../rules/index.js';
import { withDestination, withServiceExamples } from '../http/destination.js';
import { readAuthorizedLine } from './authorized-line.js';
import { readCredentialLine } from './credential-line.js';
import type { FrpOptions } from './frp-proxies.js';
import type { ImportOptions } from './report.js';
import { importLines } from './source-lines.js';

export function importCommands(command: Command): void {
  withServiceExamples(
    command,
    'import authorized-keys ~/.ssh/authorized_keys',
    'import frp frpc.toml --keys keys --yes',
  );
  addAuthorizedKeys(command);
  addFrp(command);
  addCredentials(command);
}

const withSending = (command: Command): Command =>
  command
    .option('--yes', 'make what the report shows as new; without it nothing is changed')
    .option('--owner <id>', 'user or bot that owns the credentials, for admins (default: the caller)');

const withEverything = (command: Command): Command =>
  withSending(command).option('--allow-everything', 'take lines that permit every bind too');

const REPORT =
  'Prints for each whether it is new, there already, or left, and why. What no credential can say exactly is left. Run again, it makes nothing twice. The exit code is 1 if a line is left';

function addAuthorizedKeys(parent: Command): void {
  const command = parent
    .command('authorized-keys')
    .description(`Make a credential of each line of authorized_keys. ${REPORT}`)
    .argument('<file>', 'an authorized_keys file, or a folder of them, as sish has it');
  withEverything(command)
    .option('--timezone <zone>', 'zone of expiry-time without a Z, such as Europe/Berlin', parseZone)
    .action((file: string, options: ImportOptions) => importLines(file, options, readAuthorizedLine));
  withDestination(command, 'import authorized-keys /home/tunnel/.ssh/authorized_keys --timezone Europe/Berlin');
}

function addCredentials(parent: Command): void {
  const command = parent
    .command('credentials')
    .description(`Make a credential of each line of JSON, a body of POST /ssh_credentials. ${REPORT}`)
    .argument('<file>', 'a file of such lines, as keys list --json prints them');
  withEverything(command).action((file: string, options: ImportOptions) =>
    importLines(file, options, readCredentialLine),
  );
  withDestination(command, 'import credentials devices.ndjson --yes');
}

function addFrp(parent: Command): void {
  const command = parent
    .command('frp')
    .description(`Make a credential, a tunnel group and an edge of each TCP proxy of frpc. ${REPORT}`)
    .argument('<file...>', 'configurations of frpc: TOML, YAML or JSON')
    .requiredOption('--keys <folder>', 'public keys, each in a file NAME.pub with the name of its proxy')
    .option('--host <host>', 'host of the edges, one of GATEWAY_HOSTS', '127.0.0.1')
    .option('--edge-ports <ranges>', 'GATEWAY_EDGE_PORTS of the gateway', '20000-24999');
  // What it reads with is loaded for it alone.
  withSending(command).action(async (files: readonly string[], options: FrpOptions) =>
    (await import('./frp-proxies.js')).importFrp(files, options),
  );
  withDestination(command, 'import frp frpc.toml --keys keys --host 203.0.113.7 --yes');
}

function parseZone(text: string): Intl.DateTimeFormat {
  const zone = timeZone(text);
  if (zone === undefined) throw new InvalidArgumentError('It must be a time zone such as Europe/Berlin or UTC.');
  return zone;
}
