import 'reflect-metadata';
import { newProgram, runProgram } from './operator/program.js';
import { asStart } from './operator/start/start.command.js';

/** `npm start`: the same as `tunnel-access start`. */
await runProgram(asStart(newProgram('main.js')));
