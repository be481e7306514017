import { execFile } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { CLI, runCli, spawnCli, stopMain } from '../support/process.js';
import { dataDir, start, statusOf, useStarts } from '../support/starts.js';

jest.setTimeout(300_000);
useStarts();

const KEY = 'the-key-of-the-first-tour';
const remove = (...args: string[]) => runCli({ DATA_DIR: dataDir() }, 'data', 'remove', ...args);
/** What the command prints on a terminal where a person gives this answer. */
const onTerminal = (answer: string) =>
  new Promise<string>((resolve) => {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir() };
    const command = `${process.execPath} ${CLI} data remove`;
    const child = execFile('script', ['-qec', command, '/dev/null'], { env }, (_, stdout) => resolve(stdout));
    child.stdin?.write(answer);
  });
/** The folder of the database that the start prints. */
const placeIn = (output: string): string => /"data":"([^"]+)"/.exec(output)?.[1] ?? '';

describe('data remove', () => {
  it('removes the database with its folder, asks for --yes or an answer, and refuses while an instance runs', async () => {
    const main = start();
    await main.url;
    const place = placeIn(main.output());
    const running = await remove('--yes');
    expect([running.code, running.stderr]).toEqual([3, expect.stringMatching(/is in use by another instance/)]);
    await stopMain(main);
    const data = [place, ...['checkpoint-key', 'try-it.txt'].map((file) => `${dirname(place)}/${file}`)].join(', ');
    const unsaid = `this would remove ${data} for good: add --yes\n`;
    expect(await remove()).toEqual({ code: 2, stdout: '', stderr: unsaid });
    expect(await onTerminal('no\n')).toContain('not confirmed; nothing was removed');
    expect(existsSync(place)).toBe(true);
    expect(await onTerminal('yes\n')).toContain(`removed ${data}`);
    expect(existsSync(dataDir())).toBe(false);
    expect(await remove('--yes')).toMatchObject({ code: 3, stderr: expect.stringMatching(/^there is no database in/) });
    const external = { DATA_DIR: dataDir(), DATABASE_URL: 'postgres://db.example.com/service' };
    expect(await runCli(external, 'data', 'remove', '--yes')).toMatchObject({ code: 2 });
  });
});

// Only root serves the database as another user, who cannot enter such a folder. These tests run as root.
describe('for root with a closed DATA_DIR', () => {
  it('the start says where the data lies, and the data goes although its folder is gone already', async () => {
    await chmod(dirname(dataDir()), 0o700);
    const main = start({ BOOTSTRAP_API_KEY: KEY });
    await main.url;
    const place = placeIn(main.output());
    expect(place).toMatch(/^\/var\/lib\/tunnel-access\/[0-9a-f]{12}\/postgres$/);
    const said = `the database of ${realpathSync(dataDir())} is in ${place}`;
    expect(main.output()).toContain(`${said}: to remove it, run tunnel-access data remove`);
    await stopMain(main);

    await rm(dataDir(), { recursive: true });
    const second = start();
    expect(await statusOf(await second.url, KEY)).toBe(200);
    expect(second.output()).toContain(`${said}, with the data of an earlier folder of this name: to remove it`);
    await stopMain(second);

    await rm(dataDir(), { recursive: true });
    expect(await remove('--yes')).toMatchObject({ code: 0, stderr: `removed ${dirname(place)}\n` });
    expect(existsSync(dirname(place))).toBe(false);
    const third = start();
    expect(await statusOf(await third.url, KEY)).toBe(401);
    await stopMain(third);
    expect(readdirSync(dataDir()).sort()).toEqual(['WHERE-IS-MY-DATA.txt', 'checkpoint-key', 'postgres', 'try-it.txt']);
    expect(await spawnCli({ DATA_DIR: dataDir() }, 'data', 'remove', '--yes')).toMatchObject({ code: 0 });
    expect([existsSync(dirname(place)), existsSync(dataDir())]).toEqual([false, false]);
  });
});
