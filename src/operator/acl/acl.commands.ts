import type { Command } from 'commander';
import { CheckFailed, UsageError } from '../../kernel/operator-error.js';
import { Problem } from '../../kernel/problem.js';
import { compile, parseAcl, parseTargetText, permits, ruleFor } from '../../rules/index.js';
import { withOfflineExamples } from '../help.js';
import { print } from '../print.js';

const EXAMPLES = [
  "acl check 'bind:*.example.com' bind:team=blue app.example.com:443",
  "acl check 'bind:*.example.com' bind:team=blue team=blue",
];

export function aclCommands(acl: Command): void {
  withOfflineExamples(acl, ...EXAMPLES);
  const check = acl
    .command('check')
    .description(
      'Tell whether rules permit a tunnel, and which rule does. The exit code is 0 if one does, and 1 if none does',
    )
    .usage('RULE... TARGET')
    .argument(
      '<words...>',
      'one or more rules, quoted if they hold a *, and then the target: a host, host:port or key=value',
    )
    .action((words: readonly string[]) => checkAcl(words.slice(0, -1), words.at(-1) ?? ''));
  withOfflineExamples(check, ...EXAMPLES);
}

const SAMPLE_TARGETS = 'app.example.com:443 or team=blue';

function checkAcl(rules: readonly string[], text: string): void {
  if (text === '*' || text.startsWith('bind:')) {
    throw new UsageError(`the last word is a rule; end with the target, such as ${SAMPLE_TARGETS}`);
  }
  if (text.includes('://')) throw new UsageError(`the target is a URL; write the host alone, as in ${SAMPLE_TARGETS}`);
  if (rules.length === 0)
    throw new UsageError('there is no rule before the target; a credential without rules permits everything');
  const target = parseTargetText(text);
  const { permitted, matchedRule } = permits(compile(readRules(rules)), target);
  const needs = ruleFor(target);
  const refused = `refused: no rule permits it${needs === null ? '' : `; it needs the rule ${needs}`}`;
  print(permitted ? `permitted by ${matchedRule}` : refused);
  if (!permitted) throw new CheckFailed();
}

/** Parses the rules. A message names a rule of the command line by its number, counted from 1. */
function readRules(rules: readonly string[]): readonly string[] {
  try {
    return parseAcl(rules);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new UsageError(error.message.replace(/^acl\[(\d+)\]/, (_, index) => `rule ${Number(index) + 1},`));
  }
}
