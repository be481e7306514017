import { type Command, Option } from 'commander';
import type { CloudEventResource } from '../../api/audit/events.resource.js';
import { type Destination, serviceOf, withDestination } from '../http/destination.js';
import { tell } from '../print.js';
import { type Columns, printItems } from '../table.js';
import { parseEarlier } from './time-argument.js';

interface LogOptions extends Destination {
  readonly since?: string;
  readonly limit: string;
}

const COLUMNS: Columns<CloudEventResource> = {
  POSITION: ({ logposition }) => String(logposition),
  TIME: ({ time }) => time,
  WHAT: ({ type }) => type,
  ON: ({ subject }) => subject,
  BY: ({ actor }) => actor,
  FROM: ({ clientip = '' }) => clientip,
};

export function logCommand(command: Command): void {
  command
    .argument('[id]', 'only of this resource')
    .option('--since <when>', 'since when: 7d, 12h, or an RFC 3339 time')
    .addOption(new Option('--limit <count>', 'at most so many lines').default('1000'))
    .addHelpText('after', '\nIt reads with an API key. On the database: audit show, audit tail.')
    .action(async (id: string | undefined, options: LogOptions) => {
      const api = await serviceOf(options);
      const query = {
        limit: options.limit,
        ...(id !== undefined && { stream: id }),
        ...(options.since !== undefined && { since: parseEarlier(options.since) }),
      };
      const page = await api.read<{ readonly events: readonly CloudEventResource[]; readonly next_page_uri: unknown }>(
        `events?${new URLSearchParams(query)}`,
      );
      printItems(page.events, COLUMNS, options);
      if (page.next_page_uri !== null) tell('there are more: choose a later --since, or follow GET /events');
    });
  withDestination(command, 'log --since 7d', 'log sshcr_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA');
}
