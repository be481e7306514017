import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { blocksOf, REPOSITORY } from '../support/documents.js';
import { stopAtEnd } from '../support/leftovers.js';
import { demandNamespaces } from '../support/namespaces.js';
import { Terminal } from '../support/terminal.js';

const NAMESPACES = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
const SCRIPT = new URL('../support/operator.sh', import.meta.url).pathname;

/** A terminal of root on a machine of its own, with PostgreSQL, haproxy and a checkout at /opt/tunnel-access. */
async function openMachine(): Promise<Terminal> {
  await demandNamespaces(NAMESPACES);
  const scratch = await mkdtemp(join(tmpdir(), 'tas-operator-'));
  stopAtEnd(() => rmdir(scratch));
  const env = { PATH: `${process.env.PATH}:/usr/sbin`, SCRATCH: scratch, CHECKOUT: REPOSITORY };
  return Terminal.open({ cwd: REPOSITORY, env }, ['unshare', ...NAMESPACES, 'bash', SCRIPT]);
}

const STATUS = `curl -s https://tunnels.example.com/users -H "Authorization: Bearer $API_KEY" -o /dev/null -w '%{http_code}'`;

it('an operator can set up, back up, restore and upgrade the service with the commands of docs/operating.md', async () => {
  const terminal = await openMachine();
  await terminal.runAll(blocksOf('operating'));
  expect(await terminal.run('systemctl stop tunnel-access@8081')).toBe('');
  expect(await terminal.run(STATUS)).toBe('200');
}, 300_000);
