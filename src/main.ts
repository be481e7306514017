import 'reflect-metadata';
import { newProgram, runProgram } from './cli/program.js';
import { asStart } from './cli/start/start.command.js';

/** `npm start`: the same as `tunnel-access start`. */
await runProgram(asStart(newProgram('main.js')));
