import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { quotable } from '../../api/service-log/redaction.js';
import type { SshCredentialResource } from '../../api/ssh-credentials/ssh-credentials.resource.js';
import type { TargetForm } from '../../api/tunnel-sessions/open-sessions.js';
import type { TunnelSessionResource } from '../../api/tunnel-sessions/tunnel-sessions.resource.js';
import { UsageError } from '../../kernel/operator-error.js';
import { type Destination, serviceOf, withDestination } from '../http/destination.js';
import { Refused, type ServiceApi } from '../http/service-api.js';
import { print, tell } from '../print.js';
import { type Columns, printItems } from '../table.js';
import { untilStopped } from '../until-stopped.js';
import { textOfTarget } from './target-text.js';
import { agoOf } from './time-argument.js';

/** Gateways report within 5 s. */
const WATCH_EVERY_MS = 5_000;
const CLEAR_SCREEN = '\x1b[2J\x1b[H';

interface WatchOptions extends Destination {
  readonly watch?: true;
}

export function sessionsCommand(sessions: Command): void {
  sessions.option('--watch', 'read again every 5 s, until interrupted').action(async (options: WatchOptions) => {
    const api = await serviceOf(options);
    if (options.watch !== true) return show(api, options);
    const stopped = untilStopped();
    while (!stopped.aborted) {
      if (process.stdout.isTTY && options.json !== true) process.stdout.write(CLEAR_SCREEN);
      await show(api, options);
      await sleep(WATCH_EVERY_MS, undefined, { signal: stopped }).catch(() => undefined);
    }
  });
  withDestination(sessions, 'sessions', 'sessions --watch', 'sessions stop ts_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA');
  const stop = sessions
    .command('stop')
    .description('End a session with its tunnels. The client may come back: keys rm ends it for good')
    .argument('<id>', 'id of the session')
    .action(async (id: string, options: Destination) => {
      const api = await serviceOf(options);
      await api.send('POST', `tunnel_sessions/${encodeURIComponent(id)}/stop`).catch((error: unknown) => {
        if (!(error instanceof Refused) || error.status !== 404) throw error;
        throw new UsageError(`no open session is ${quotable(id)}: tunnel-access sessions shows all`);
      });
      print(id);
      tell(`stopped at ${api.name}; its gateway ends it within a second`);
    });
  withDestination(stop, 'sessions stop ts_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA');
}

async function show(api: ServiceApi, options: Destination): Promise<void> {
  const open = await api.all<TunnelSessionResource>('tunnel_sessions', 'tunnel_sessions');
  const names = await namesOf(api, open);
  printItems(open, columnsWith(names), options);
  if (open.length === 0) tell('nobody is connected');
}

/** The descriptions of the credentials, since a device is known by its name. */
async function namesOf(api: ServiceApi, open: readonly TunnelSessionResource[]): Promise<ReadonlyMap<string, string>> {
  if (open.length === 0) return new Map();
  const credentials = await api.all<SshCredentialResource>('ssh_credentials', 'ssh_credentials', { online: 'true' });
  return new Map(credentials.map(({ id, description }) => [id, description === '' ? id : description]));
}

const columnsWith = (names: ReadonlyMap<string, string>): Columns<TunnelSessionResource> => ({
  ID: ({ id }) => id,
  WHO: ({ credential }) => names.get(credential.id) ?? credential.id,
  FROM: ({ ip }) => (ip === '' ? 'unknown' : ip),
  SINCE: ({ started_at }) => agoOf(started_at),
  WHAT: ({ tunnels }) =>
    tunnels.flatMap(({ targets }) => (targets as readonly TargetForm[]).map(textOfTarget)).join(' '),
  IN: ({ bytes_in }) => bytesOf(bytes_in),
  OUT: ({ bytes_out }) => bytesOf(bytes_out),
});

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

function bytesOf(bytes: number | null): string {
  if (bytes === null) return 'unknown';
  const power = Math.min(bytes === 0 ? 0 : Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  return `${(bytes / 1_000 ** power).toFixed(power === 0 ? 0 : 1)} ${UNITS[power]}`;
}
