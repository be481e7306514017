import { expect, it } from '@jest/globals';
import { blocksOf } from '../support/documents.js';
import { openMachine } from '../support/machine.js';

/** From another address than the proxy's, with a header that only the proxy may set. */
const CREATE_BOT = `curl -s --interface 127.0.0.2 https://tunnels.example.com/bot_users -H "Authorization: Bearer $API_KEY" \\
  -H 'Content-Type: application/json' -H 'X-Forwarded-For: 192.0.2.9' -d '{"name": "deploy"}'`;
const STATUS = `curl -s https://tunnels.example.com/users -H "Authorization: Bearer $API_KEY" -o /dev/null -w '%{http_code}'`;

it('an operator can set up, back up, restore, upgrade and monitor the service with the commands of docs/operating.md and docs/monitoring.md', async () => {
  const terminal = await openMachine('operator.sh');
  await terminal.runAll(blocksOf('operating'));
  const bot = JSON.parse(await terminal.run(CREATE_BOT));
  expect(bot.uri).toMatch(/^https:\/\/tunnels\.example\.com\/bot_users\/bot_/);
  expect(await terminal.run(`node dist/src/cli/cli.js audit show ${bot.id}`)).toContain(' from 127.0.0.2 using ');
  // The proxy of the document goes to the other instance.
  expect(await terminal.run('systemctl stop tunnel-access@8081')).toBe('');
  expect(await terminal.run(STATUS)).toBe('200');
}, 300_000);
