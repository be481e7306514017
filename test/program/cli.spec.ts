import { describe, expect, it } from '@jest/globals';
import { ApiClient } from '../support/api-client.js';
import { runCli, spawnCli, stopMain } from '../support/process.js';
import { startService } from '../support/service.js';
import { dataDir, start, statusOf, useStarts } from '../support/starts.js';

useStarts();

describe('api-keys create', () => {
  it('creates a key beside a running service and without one, and prints only the key on stdout', async () => {
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

  it('exits with 2 for a command that does not exist, and for a bad setting', async () => {
    const settings = { DATA_DIR: dataDir() };
    expect(await spawnCli(settings, 'api-keys', 'make')).toMatchObject({ code: 2, stdout: '' });
    expect(await runCli({ ...settings, PORT: 'x' }, 'api-keys', 'create')).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('accounts create', () => {
  it('creates an admin key that works at once beside a running service; accounts list shows every account', async () => {
    const service = await startService();
    const { url } = service.app;
    const settings = { DATABASE_URL: service.databaseUrl };
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
    const again = await runCli(settings, 'accounts', 'create', 'Second team');
    const refusal = `account ${lines[1]?.[0]} has the name 'Second team': choose another name, or add --same-name\n`;
    expect(again).toEqual({ code: 2, stdout: '', stderr: refusal });
    const twin = await runCli(settings, 'accounts', 'create', 'Second team', '--same-name');
    expect(twin).toMatchObject({ code: 0, stderr: expect.stringContaining(`'Second team', admin usr_`) });

    // The default is that of the first account.
    const emails = async (client: ApiClient): Promise<string[]> =>
      (await client.get('/users')).body.users.map(({ email }: { email: string }) => email);
    expect(await emails(new ApiClient(url, twin.stdout.trim()))).toEqual(await emails(service.admin));

    expect(await runCli(settings, 'accounts', 'create', ' ')).toMatchObject({ code: 2, stdout: '' });
    expect(await runCli(settings, 'accounts', 'create')).toMatchObject({ code: 2, stdout: '' });
    await service.stop();
  });
});
