import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { runCli } from '../support/process.js';

const suggestions = async (...words: string[]): Promise<readonly string[]> => {
  const { code, stdout } = await runCli({}, 'complete', '--', ...words);
  expect(code).toBe(0);
  return stdout.split('\n').flatMap((line) => (/^:\d*$|^$/.test(line) ? [] : (line.split('\t')[0] ?? [])));
};

describe('tunnel-access completion', () => {
  it.each(['bash', 'zsh', 'fish'])('prints a script for %s that asks the program what may follow', async (shell) => {
    const { code, stdout } = await runCli({}, 'completion', shell);
    expect([code, stdout]).toEqual([0, expect.stringContaining('tunnel-access complete --')]);
    if (shell === 'bash') execFileSync('bash', ['-n'], { input: stdout });
  });

  it('knows commands, the commands below them, and options', async () => {
    expect(await suggestions('se')).toEqual(['sessions']);
    expect(await suggestions('keys', '')).toEqual(expect.arrayContaining(['add', 'list', 'rotate']));
    expect(await suggestions('keys', 'add', '--ex')).toEqual(['--expires']);
    expect(await suggestions('audit', 'ver')).toEqual(['verify']);
  });
});
