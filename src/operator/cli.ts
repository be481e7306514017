#!/usr/bin/env node
import 'reflect-metadata';
import { addCommands } from './commands.js';
import { addCompletion, isCompletion } from './completion.js';
import { withExamples } from './help.js';
import { newProgram, runProgram } from './program.js';

const program = newProgram('tunnel-access').description(
  'Who may open tunnels, and what they do. The first commands call a service over HTTP, the others are for its operator.',
);
withExamples(program, 'login http://127.0.0.1:8080', 'keys add laptop.pub --bind app=web', 'start', 'audit tail -f');
const words = process.argv.slice(2);
await addCommands(program, (name) => words.includes(name) || isCompletion(words));
await addCompletion(program, words);
await runProgram(program);
