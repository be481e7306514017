import type { Command } from 'commander';
import { withOfflineExamples } from './help.js';

const [NAME, ASKED_BY_SHELLS] = ['completion', 'complete'];

/** Whether a shell asks what may follow. Then all commands must be known. */
export const isCompletion = ([first]: readonly string[]): boolean => first === ASKED_BY_SHELLS;

/** Adds the command that prints the completion of a shell, and the hidden one that the shell then calls. */
export async function addCompletion(program: Command, words: readonly string[]): Promise<void> {
  const about = 'Print the completion of bash, zsh or fish: source it in the startup file of the shell';
  program.commandsGroup('Other:');
  if (!isCompletion(words) && !words.includes(NAME)) {
    program.command(NAME).description(about);
    return;
  }
  const { default: addTab } = await import('@bomb.sh/tab/commander');
  addTab(program, { completionCommandName: NAME });
  const command = program.commands.find((one) => one.name() === NAME);
  if (command !== undefined) {
    withOfflineExamples(
      command.description(about),
      'completion bash > ~/.local/share/bash-completion/completions/tunnel-access',
    );
  }
}
