import type { Command } from 'commander';
import { withExamples } from '../../help.js';
import { onDatabase, READS } from '../../run-on-database.js';

export function addDecideCommand(audit: Command): void {
  const decide = audit
    .command('decide')
    .description(
      'Make a recorded bind decision again, from the log as it was then, and tell whether the answer is the same. The exit code is 0 if it is, and 1 if it is not',
    )
    .argument('<id>', 'id of a bind decision, as GET /bind_decisions shows it')
    .action(async (id: string) => {
      // Imported late, since most commands do not need the framework.
      const { printDecidedAgain } = await import('./print-decided-again.js');
      await onDatabase(READS, (database) => printDecidedAgain(database, id));
    });
  withExamples(decide, 'audit decide bd_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA');
}
