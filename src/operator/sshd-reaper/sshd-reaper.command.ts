import type { Command } from 'commander';
import { OperatorError } from '../../kernel/operator-error.js';
import { print } from '../print.js';
import { untilStopped } from '../until-stopped.js';
import { readCurlConfig } from './curl-config.js';
import { GatewayService } from './gateway-service.js';
import { readLog } from './log-source.js';
import { Reaper } from './reaper.js';

const CONFIG = '/etc/ssh/tunnel-gateway/service.curl';

const HELP = `
It runs as root on the gateway, beside the sshd of docs/sshd-gateway.md, and
needs no database. The log says which session sshd let in by which credentials.
The service says which credentials changed. A session ends if its key may bind
less than at its login, or may no longer log in.

Examples:
  $ tunnel-access sshd-reaper
  $ tunnel-access sshd-reaper --log /var/log/auth.log

Environment:
  It reads none of the settings of the service.`;

interface Options {
  readonly config: string;
  readonly log?: string;
}

export function sshdReaperCommand(command: Command): void {
  command
    .option('--config <file>', 'curl config of the key command, with the URL of the service and the token', CONFIG)
    .option('--log <file>', 'read this syslog file (default: the systemd journal)')
    .addHelpText('after', HELP)
    .action(reap);
}

async function reap({ config, log }: Options): Promise<void> {
  if (process.getuid?.() !== 0) throw new OperatorError('run it as root: it ends processes of sshd');
  const stopped = untilStopped();
  const reaper = new Reaper(new GatewayService(() => readCurlConfig(config)), print);
  try {
    await reaper.run(readLog(log, stopped), stopped);
  } catch (error) {
    if (!stopped.aborted) throw error;
  }
}
