import type { Command } from 'commander';
import type { BindDecisionResource } from '../../api/gateway-api/decision-record/bind-decisions.resource.js';
import type { TargetForm } from '../../api/tunnel-sessions/open-sessions.js';
import { type Destination, serviceOf, withDestination } from '../http/destination.js';
import { tell } from '../print.js';
import { type Columns, printItems } from '../table.js';
import { findCredential } from './find-credential.js';
import { textOfTarget } from './target-text.js';
import { parseEarlier } from './time-argument.js';

interface RefusedOptions extends Destination {
  readonly since: string;
  readonly key?: string;
}

const COLUMNS: Columns<BindDecisionResource> = {
  TIME: ({ decided_at }) => decided_at,
  WHAT: ({ target }) => textOfTarget(target as TargetForm),
  WHY: ({ reason }) => reason,
  'MISSING RULE': ({ needs }) => needs ?? '-',
  KEY: ({ credential_id }) => credential_id,
  FROM: ({ source }) => source ?? 'unknown',
};

export function refusedCommand(command: Command): void {
  command
    .option('--since <when>', 'since when: 7d, 12h, or an RFC 3339 time', '1d')
    .option('--key <key>', 'only of this credential: its id, .pub file, fingerprint or description')
    .action(async (options: RefusedOptions) => {
      const since = parseEarlier(options.since);
      const api = await serviceOf(options);
      const credential = options.key === undefined ? undefined : await findCredential(api, options.key);
      const query = { allowed: 'false', since, ...(credential !== undefined && { credential_id: credential.id }) };
      const found = await api.all<BindDecisionResource>('bind_decisions', 'bind_decisions', query);
      printItems(found, COLUMNS, options);
      if (found.length === 0) tell(`nothing was refused since ${since}`);
      else if (found.some(({ needs }) => needs !== null))
        tell('to permit one: tunnel-access keys edit KEY --bind RULE, with each rule that is to stay');
    });
  withDestination(command, 'refused --since 7d', 'refused --key laptop.pub');
}
