import { beforeAll, describe, expect, it } from '@jest/globals';
import { runCli } from '../support/process.js';

/** The help of a command and of every command below it, by the words that call it. */
async function helpOfAll(words: readonly string[] = []): Promise<[command: string, help: string][]> {
  const { code, stdout, stderr } = await runCli({}, ...words, '--help');
  expect([code, stderr]).toEqual([0, '']);
  const below: [string, string][][] = [];
  for (const name of commandsIn(stdout)) below.push(await helpOfAll([...words, name]));
  return [[['tunnel-access', ...words].join(' '), stdout], ...below.flat()];
}

/** All commands except `help`, which belongs to commander. */
function commandsIn(help: string): string[] {
  const sections = help.matchAll(
    /\n(?:Commands|Over HTTP, with an API key|On the database|Other):\n([\s\S]*?)(?=\n\n)/g,
  );
  const text = [...sections].map(([, section]) => section).join('\n');
  return [...text.matchAll(/^ {2}(\S+)/gm)].map(([, name]) => name ?? '').filter((name) => name !== 'help');
}

/** They have no service yet. */
const OF_LOGIN = ['tunnel-access login', 'tunnel-access logout'];

describe('--help', () => {
  let helps: [command: string, help: string][];
  beforeAll(async () => {
    helps = await helpOfAll();
  });

  it('of every command ends with an example that calls it, and with the environment variables it reads', () => {
    expect(helps.map(([command]) => command)).toEqual([
      'tunnel-access',
      'tunnel-access login',
      'tunnel-access logout',
      'tunnel-access whoami',
      'tunnel-access keys',
      'tunnel-access keys add',
      'tunnel-access keys list',
      'tunnel-access keys show',
      'tunnel-access keys edit',
      'tunnel-access keys rm',
      'tunnel-access keys rotate',
      'tunnel-access edges',
      'tunnel-access edges add',
      'tunnel-access edges list',
      'tunnel-access edges show',
      'tunnel-access edges rm',
      'tunnel-access sessions',
      'tunnel-access sessions stop',
      'tunnel-access refused',
      'tunnel-access log',
      'tunnel-access check',
      'tunnel-access import',
      'tunnel-access import authorized-keys',
      'tunnel-access import frp',
      'tunnel-access import credentials',
      'tunnel-access start',
      'tunnel-access accounts',
      'tunnel-access accounts create',
      'tunnel-access accounts list',
      'tunnel-access api-keys',
      'tunnel-access api-keys create',
      'tunnel-access acl',
      'tunnel-access acl check',
      'tunnel-access audit',
      'tunnel-access audit show',
      'tunnel-access audit diff',
      'tunnel-access audit tail',
      'tunnel-access audit push',
      'tunnel-access audit export',
      'tunnel-access audit import',
      'tunnel-access audit verify',
      'tunnel-access audit repair-tiles',
      'tunnel-access audit alarms',
      'tunnel-access audit alarms end',
      'tunnel-access audit key',
      'tunnel-access audit witness',
      'tunnel-access migrate',
      'tunnel-access projections',
      'tunnel-access projections prove',
      'tunnel-access projections repair',
      'tunnel-access data',
      'tunnel-access data remove',
      'tunnel-access doctor',
      'tunnel-access gateway',
      'tunnel-access sshd-reaper',
      'tunnel-access completion',
    ]);
    for (const [command, help] of helps) {
      const [, examples = '', environment] = help.split(/\n(?:Examples|Environment):\n/);
      expect([command, examples]).toEqual([command, expect.stringMatching(new RegExp(`^ {2}\\$ ${command}[ \\n]`))]);
      // A gateway and a verb have no database.
      if (help.includes('The service and the API key come from one place')) continue;
      if (OF_LOGIN.includes(command)) continue;
      if (['tunnel-access gateway', 'tunnel-access sshd-reaper'].includes(command)) continue;
      if (examples.endsWith('\n\nIt needs no database and reads no settings.\n')) continue;
      expect([command, environment]).toEqual([
        command,
        expect.stringMatching(/^ {2}DATABASE_URL {2}[\s\S]+\n {2}DATA_DIR {2}[\s\S]+\(default: \.\/data\)\n/),
      ]);
    }
  });

  it('of the program names every exit code', () => {
    const [[, help] = ['', '']] = helps;
    const [, codes = ''] = help.split('\nExit codes:\n');
    expect([...codes.matchAll(/^ {2}(\d+) +\S/gm)].map(([, code]) => Number(code))).toEqual([0, 1, 2, 3, 70, 130]);
  });
});
