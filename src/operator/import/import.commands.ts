import { type Command, InvalidArgumentError } from 'commander';
import { timeZone } from '../../rules/index.js';
import { withDestination, withServiceExamples } from '../http/destination.js';
import { readAuthorizedLine } from './authorized-line.js';
import { readCredentialLine } from './credential-line.js';
import { importFrp, type Ports } from './frp-proxies.js';
import type { ImportOptions } from './report.js';
import { importLines } from './source-lines.js';

/** The default of GATEWAY_EDGE_PORTS. */
const EDGE_PORTS = '20000-24999';

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

const WITH_LINES =
  'Prints for each line whether it is new, there already, or left, and why. A line that no credential can say exactly is left. Run again, it makes nothing twice. The exit code is 1 if a line is left';

function addAuthorizedKeys(parent: Command): void {
  const command = parent
    .command('authorized-keys')
    .description(`Make a credential of each line of authorized_keys. ${WITH_LINES}`)
    .argument('<file>', 'an authorized_keys file, or a folder of them, as sish has it');
  withEverything(command)
    .option('--timezone <zone>', 'zone of expiry-time without a Z, such as Europe/Berlin', parseZone)
    .action((file: string, options: ImportOptions) => importLines([file], options, readAuthorizedLine));
  withDestination(command, 'import authorized-keys /home/tunnel/.ssh/authorized_keys --timezone Europe/Berlin');
}

function addCredentials(parent: Command): void {
  const command = parent
    .command('credentials')
    .description(`Make a credential of each line of JSON, a body of POST /ssh_credentials. ${WITH_LINES}`)
    .argument('<file>', 'a file of such lines, as keys list --json prints them');
  withEverything(command).action((file: string, options: ImportOptions) =>
    importLines([file], options, readCredentialLine),
  );
  withDestination(command, 'import credentials devices.ndjson --yes');
}

function addFrp(parent: Command): void {
  const command = parent
    .command('frp')
    .description(`Make a credential, a tunnel group and an edge of each TCP proxy of frpc. ${WITH_LINES}`)
    .argument('<file...>', 'configurations of frpc: TOML, YAML, JSON or INI')
    .requiredOption('--keys <folder>', 'public keys, each in a file NAME.pub with the name of its proxy')
    .option('--host <host>', 'host of the edges, one of GATEWAY_HOSTS', '127.0.0.1')
    .option('--edge-ports <range>', 'GATEWAY_EDGE_PORTS of the gateway', parsePortRange, parsePortRange(EDGE_PORTS));
  withSending(command).action(importFrp);
  withDestination(command, 'import frp frpc.toml --keys keys --host 203.0.113.7 --yes');
}

function parseZone(text: string): Intl.DateTimeFormat {
  const zone = timeZone(text);
  if (zone === undefined) throw new InvalidArgumentError('It must be a time zone such as Europe/Berlin or UTC.');
  return zone;
}

function parsePortRange(text: string): Ports {
  const [, min, max] = /^(\d{1,5})-(\d{1,5})$/.exec(text) ?? [];
  if (min === undefined || max === undefined) throw new InvalidArgumentError('It must be a range such as 20000-24999.');
  return { min: Number(min), max: Number(max), toString: () => text };
}
