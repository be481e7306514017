import 'reflect-metadata';
import { newProgram, runProgram } from './operator/program.js';
import { START, startCommand } from './operator/start/start.command.js';

/** `npm start`: the same as `tunnel-access start`. */
await runProgram(startCommand(newProgram('main.js').description(START)));
