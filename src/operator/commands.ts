import type { Command } from 'commander';
import { START } from './start/start.command.js';

/** Gives a command its arguments, options, examples and commands below it. */
type Fill = (command: Command) => unknown;

interface Entry {
  readonly name: string;
  readonly about: string;
  /** Imports the command. Its modules take most of the time of a start. */
  readonly fill: () => Promise<Fill>;
  readonly isHidden?: true;
}

const OVER_HTTP: readonly Entry[] = [
  {
    name: 'login',
    about: 'Keep the URL of a service and an API key for the commands below',
    fill: async () => (await import('./verbs/login.commands.js')).loginCommand,
  },
  {
    name: 'logout',
    about: 'Forget them',
    fill: async () => (await import('./verbs/login.commands.js')).logoutCommand,
  },
  {
    name: 'whoami',
    about: 'Show who calls, and the gateways of the account',
    fill: async () => (await import('./verbs/login.commands.js')).whoamiCommand,
  },
  {
    name: 'keys',
    about: 'SSH credentials: who may open tunnels, and which',
    fill: async () => (await import('./verbs/keys.commands.js')).keysCommands,
  },
  {
    name: 'edges',
    about: 'TCP edges: where visitors reach tunnels',
    fill: async () => (await import('./verbs/edges.commands.js')).edgesCommands,
  },
  {
    name: 'sessions',
    about: 'Show who is connected, from where, since when and with which tunnels; stop one',
    fill: async () => (await import('./verbs/sessions.command.js')).sessionsCommand,
  },
  {
    name: 'refused',
    about: 'Show which binds were refused, why, and which rule was missing',
    fill: async () => (await import('./verbs/refused.command.js')).refusedCommand,
  },
  {
    name: 'log',
    about: 'Show what was changed, when and by whom',
    fill: async () => (await import('./verbs/log.command.js')).logCommand,
  },
  {
    name: 'check',
    about: 'Ask whether a credential may bind a target, now or at an earlier time',
    fill: async () => (await import('./verbs/check.command.js')).checkCommand,
  },
  {
    name: 'import',
    about: 'Make credentials and edges of authorized_keys, of configurations of frp, or of lines of JSON',
    fill: async () => (await import('./import/import.commands.js')).importCommands,
  },
];

const ON_DATABASE: readonly Entry[] = [
  {
    name: 'start',
    about: START,
    fill: async () => (await import('./start/start.command.js')).startCommand,
  },
  {
    name: 'accounts',
    about: 'Create and list accounts. Each account has its own log, principals and resources',
    fill: async () => (await import('./accounts/accounts.commands.js')).accountsCommands,
  },
  {
    name: 'api-keys',
    about: 'Create an API key, for an operator who has lost theirs. For keys of SSH: keys',
    fill: async () => (await import('./accounts/api-keys.commands.js')).apiKeysCommands,
  },
  {
    name: 'acl',
    about: 'Try rules before a credential has them. For the rules of a credential: check',
    fill: async () => (await import('./acl/acl.commands.js')).aclCommands,
  },
  {
    name: 'audit',
    about: 'Read, check and move the logs, which hold every change since the first. Over HTTP: log',
    fill: async () => (await import('./audit/audit.commands.js')).auditCommands,
  },
  {
    name: 'migrate',
    about:
      'Run the pending migrations, and give the role of DATABASE_URL its rights if MIGRATION_DATABASE_URL names another role',
    fill: async () => (await import('./migrate.command.js')).migrateCommand,
  },
  {
    name: 'projections',
    about: 'Compare the tables, from which GET and LIST answer, with the log, and correct them',
    fill: async () => (await import('./projections/projections.commands.js')).projectionsCommands,
  },
  {
    name: 'data',
    about: 'Remove the data of the embedded database',
    fill: async () => (await import('./data.command.js')).dataCommand,
  },
  {
    name: 'doctor',
    about:
      'Check the settings, the database, the issuer and the port, with or without a running instance. Each line on stdout begins with ok, warning or wrong, and says what to do. The command changes nothing, and shows no secret. The exit code is 1 if something is wrong',
    fill: async () => (await import('./doctor/doctor.command.js')).doctorCommand,
  },
  {
    name: 'gateway',
    about: 'Run an SSH gateway, which lets in the keys that the service knows, and carries their tunnels',
    fill: async () => (await import('./gateway/gateway.command.js')).gatewayCommand,
  },
  {
    name: 'sshd-reaper',
    about: 'On a gateway with stock sshd, end the tunnels of a key within a second after it lost its right',
    fill: async () => (await import('./sshd-reaper/sshd-reaper.command.js')).sshdReaperCommand,
  },
  ...['backup', 'restore'].map((name) => ({
    ...{ name, about: '', isHidden: true as const },
    fill: async () => (await import('./replaced.commands.js')).replacedCommand,
  })),
];

/** All commands by the heading of the help. */
const COMMANDS: Readonly<Record<string, readonly Entry[]>> = {
  'Over HTTP, with an API key:': OVER_HTTP,
  'On the database:': ON_DATABASE,
};

/** Adds the commands to a program. Only those that are named are imported: the help of the program needs no other. */
export async function addCommands(program: Command, isNamed: (name: string) => boolean): Promise<void> {
  for (const [heading, entries] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading);
    for (const { name, about, fill, isHidden = false } of entries) {
      const command = program.command(name, { hidden: isHidden }).description(about);
      if (isNamed(name)) (await fill())(command);
    }
  }
}
