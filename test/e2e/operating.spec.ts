import { expect, it } from '@jest/globals';
import { blocksOf } from '../support/documents.js';
import { openMachine } from '../support/machine.js';

const STATUS = `curl -s https://tunnels.example.com/users -H "Authorization: Bearer $API_KEY" -o /dev/null -w '%{http_code}'`;

it('an operator can set up, back up, restore and upgrade the service with the commands of docs/operating.md', async () => {
  const terminal = await openMachine('operator.sh');
  await terminal.runAll(blocksOf('operating'));
  // The proxy of the document goes to the other instance.
  expect(await terminal.run('systemctl stop tunnel-access@8081')).toBe('');
  expect(await terminal.run(STATUS)).toBe('200');
}, 300_000);
