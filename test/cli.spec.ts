import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { runCli, stopMain } from './support/process.js';
import { dataDir, start, statusOf, useStarts } from './support/starts.js';

useStarts();

describe('the operator’s command api-keys create', () => {
  it('makes a key beside the running service and on a stopped one, on stdout alone', async () => {
    const main = start();
    const url = await main.url;
    const settings = { DATA_DIR: dataDir() };
    const beside = await runCli(settings, 'api-keys', 'create');
    expect(beside).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+_\S+\n$/) });
    expect(await statusOf(url, beside.stdout.trim())).toBe(200);
    await stopMain(main);

    const alone = await runCli(settings, 'api-keys', 'create', '--description', 'lost it');
    expect(alone).toMatchObject({ code: 0 });
    const second = start();
    expect(await statusOf(await second.url, alone.stdout.trim())).toBe(200);
  });

  it('for an owner that does not exist says so and exits with 1; misuse exits with 2', async () => {
    const main = start();
    await main.url;
    const settings = { DATA_DIR: dataDir() };
    expect(await runCli(settings, 'api-keys', 'create', '--owner', 'usr_nobody')).toEqual({
      code: 1,
      stdout: '',
      stderr: "there is no active user or bot 'usr_nobody'\n",
    });
    expect(await runCli(settings, 'api-keys', 'make')).toMatchObject({ code: 2, stdout: '' });
    expect(await runCli({ ...settings, PORT: 'x' }, 'api-keys', 'create')).toMatchObject({ code: 2, stdout: '' });
    expect(await runCli(settings, '--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('api-keys') });
  });
});

describe('the operator’s commands for accounts', () => {
  it('make one with an admin key that works at once, beside the running service, and list them all', async () => {
    const main = start();
    const url = await main.url;
    const settings = { DATA_DIR: dataDir() };
    const made = await runCli(settings, 'accounts', 'create', 'Second team', '--admin-email', 'boss@example.test');
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+_\S+\n$/) });
    const boss = new ApiClient(url, made.stdout.trim());
    expect((await boss.get('/users')).body.users).toMatchObject([{ email: 'boss@example.test', role: 'admin' }]);
    expect((await boss.post('/bot_users', { name: 'b' })).status).toBe(201);

    const listed = await runCli(settings, 'accounts', 'list');
    const lines = listed.stdout
      .trim()
      .split('\n')
      .map((line) => line.split('\t'));
    expect(lines.map(([id = '', , events, name]) => [id.slice(0, 3), events, name])).toEqual([
      ['ac_', '3', 'Default'],
      ['ac_', '4', 'Second team'],
    ]);
    expect(await runCli(settings, 'accounts', 'create', ' ')).toMatchObject({ code: 2, stdout: '' });
    expect(await runCli(settings, 'accounts', 'create')).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('a command that only looks', () => {
  it('refuses a folder without a database, and makes none', async () => {
    const folder = `${dataDir()}-mistyped`;
    const { code, stdout, stderr } = await runCli({ DATA_DIR: folder }, 'audit', 'verify');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      `there is no database in DATA_DIR ${folder}: set DATA_DIR or DATABASE_URL to the value that the service uses\n`,
    );
    expect(existsSync(folder)).toBe(false);
  });
});
