#!/usr/bin/env node
import 'reflect-metadata';
import { addAccountCommands } from './accounts/accounts.commands.js';
import { addApiKeyCommands } from './accounts/api-keys.commands.js';
import { addAclCommands } from './acl/acl.commands.js';
import { addAuditCommands } from './audit/audit.commands.js';
import { addDataCommand } from './data.command.js';
import { addDoctorCommand } from './doctor/doctor.command.js';
import { addGatewayCommand } from './gateway/gateway.command.js';
import { withExamples } from './help.js';
import { addMigrateCommand } from './migrate.command.js';
import { newProgram, runProgram } from './program.js';
import { addProjectionCommands } from './projections/projections.commands.js';
import { addReplacedCommands } from './replaced.commands.js';
import { addSshdReaperCommand } from './sshd-reaper/sshd-reaper.command.js';
import { asStart } from './start/start.command.js';

const program = newProgram('tunnel-access').description(
  'The service, and commands for its operator. The commands read the same environment variables as the service, and can run beside it.',
);
withExamples(program, 'start', 'audit tail -f', 'audit export --help');
asStart(program.command('start'));
addAccountCommands(program);
addApiKeyCommands(program);
addAclCommands(program);
addAuditCommands(program);
addMigrateCommand(program);
addProjectionCommands(program);
addDataCommand(program);
addDoctorCommand(program);
addGatewayCommand(program);
addSshdReaperCommand(program);
addReplacedCommands(program);

await runProgram(program);
