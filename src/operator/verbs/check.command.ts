import type { Command } from 'commander';
import type { BindCheck } from '../../api/gateway-api/checks/checks.resource.js';
import { toRequestForm } from '../../api/gateway-api/decisions/bind-target-form.js';
import { CheckFailed } from '../../kernel/operator-error.js';
import { parseTargetText } from '../../rules/index.js';
import { type Destination, serviceOf, withDestination } from '../http/destination.js';
import { print } from '../print.js';
import { findCredential, KEY_ARGUMENT } from './find-credential.js';
import { parseEarlier } from './time-argument.js';

interface CheckOptions extends Destination {
  readonly from?: string;
  readonly at?: string;
}

export function checkCommand(command: Command): void {
  command
    .argument(...KEY_ARGUMENT)
    .argument('<target>', 'what it would bind: a domain, host:port or key=value')
    .option('--from <address>', 'where the tunnel would come from')
    .option('--at <when>', 'as it was then: 7d, 12h, or an RFC 3339 time (default: now)')
    .addHelpText('after', '\nThe exit code is 1 if it is refused. To try rules that no key has: acl check.')
    .action(async (key: string, target: string, options: CheckOptions) => {
      const { from, at, json } = options;
      const api = await serviceOf(options);
      const { id } = await findCredential(api, key);
      const { body: answer } = await api.send<BindCheck>('POST', `ssh_credentials/${id}/check`, {
        target: toRequestForm(parseTargetText(target)),
        ...(from !== undefined && { source: from }),
        ...(at !== undefined && { as_of: parseEarlier(at) }),
      });
      print(json === true ? JSON.stringify(answer) : sentenceOf(answer));
      if (!answer.allowed) throw new CheckFailed();
    });
  withDestination(command, 'check laptop.pub app=web', 'check laptop app.example.com:443 --from 10.1.2.3 --at 7d');
}

function sentenceOf({ allowed, reason, matched_rule, needs }: BindCheck): string {
  if (allowed) return `permitted by ${matched_rule ?? 'no rule: it has none, so it may bind everything'}`;
  return `refused: ${reason}${needs === null ? '' : `; it needs the rule ${needs}`}`;
}
