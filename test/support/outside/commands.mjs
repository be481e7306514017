import { fork } from 'node:child_process';

/** The process that runs commands for this worker. The tests load this module from outside of their realms. */
let child;
let last = Promise.resolve();

function start() {
  child = fork(new URL('command-process.mjs', import.meta.url), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  // It does not keep the worker alive, and ends with it.
  child.unref();
  child.channel.unref();
}

const send = (command) =>
  new Promise((resolve, reject) => {
    if (child === undefined) start();
    const answered = (answer) => {
      child.off('exit', ended);
      resolve(answer);
    };
    const ended = (code, signal) => {
      child = undefined;
      reject(new Error(`the process ended within a command: ${signal ?? code}`));
    };
    child.once('message', answered).once('exit', ended);
    child.send(command);
  });

/** Runs a command of the CLI with only these settings in its environment. Commands wait for each other. */
export function runCommand(settings, args, stdin = '') {
  const answer = last.then(() => send({ args, settings, stdin }));
  last = answer.catch(() => undefined);
  return answer;
}
