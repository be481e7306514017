import type { Command } from 'commander';
import { UsageError } from '../kernel/operator-error.js';

/** Commands that were removed, and what replaces them. Scripts may still call them. */
const REPLACED: Readonly<Record<string, string>> = {
  backup: 'audit export --all > FILE',
  restore: 'audit import FILE',
};

export function replacedCommand(command: Command): void {
  const name = command.name();
  command
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      throw new UsageError(
        `there is no command ${name} any more: use tunnel-access ${REPLACED[name]} (docs/backup.md)`,
      );
    });
}
