import type { Command } from 'commander';
import { UsageError } from '../kernel/operator-error.js';

/** Commands that were removed, and what replaces them. Scripts may still call them. */
const REPLACED: Readonly<Record<string, string>> = {
  backup: 'audit export --all > FILE',
  restore: 'audit import FILE',
};

export function addReplacedCommands(program: Command): void {
  for (const [name, now] of Object.entries(REPLACED)) {
    program
      .command(name, { hidden: true })
      .allowUnknownOption()
      .allowExcessArguments()
      .action(() => {
        throw new UsageError(`there is no command ${name} any more: use tunnel-access ${now} (docs/backup.md)`);
      });
  }
}
