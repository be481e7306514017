import type { Command } from 'commander';
import { withExamples } from '../help.js';
import { addAlarmsCommand } from './alarms.command.js';
import { addExportCommand } from './export.command.js';
import { addDiffCommand, addShowCommand } from './history.commands.js';
import { addImportCommand } from './import.command.js';
import { addKeyCommand } from './key.command.js';
import { addPushCommand } from './push/push.command.js';
import { addRepairTilesCommand } from './repair-tiles.command.js';
import { addTailCommand } from './tail.command.js';
import { addVerifyCommand } from './verify.command.js';
import { addWitnessCommand } from './witness/witness.command.js';

export function auditCommands(audit: Command): void {
  withExamples(audit, 'audit tail -n 20', 'audit verify');
  addShowCommand(audit);
  addDiffCommand(audit);
  addTailCommand(audit);
  addPushCommand(audit);
  addExportCommand(audit);
  addImportCommand(audit);
  addVerifyCommand(audit);
  addRepairTilesCommand(audit);
  addAlarmsCommand(audit);
  addKeyCommand(audit);
  addWitnessCommand(audit);
}
