import { expect, it } from '@jest/globals';
import { blocksOf, type Run } from '../support/documents.js';
import { openMachine } from '../support/machine.js';

const commandsOf = (run: Run): string =>
  blocksOf(run)
    .map(({ text }) => text.trimEnd())
    .join('\n');

const KNOW_THE_GATEWAY =
  'until ssh-keyscan -p 2222 gateway.example.com > ~/.ssh/known_hosts; do sleep 0.2; done 2> /dev/null';
const ASK_THROUGH_THE_TUNNEL = 'curl -s --retry 30 --retry-connrefused --retry-delay 1 http://app.example.com:7001';

it('the commands of docs/sshd-gateway.md make a gateway, a credential and a tunnel', async () => {
  const terminal = await openMachine('sshd-guide.sh');
  await terminal.runAll(blocksOf('sshd-setup'));
  await terminal.run(`${commandsOf('sshd-start')} &`);
  await terminal.run(KNOW_THE_GATEWAY);
  expect(await terminal.run('cd "$SCRATCH"')).toBe('');
  await terminal.runAll(blocksOf('sshd-credential'));
  await terminal.run(`${commandsOf('sshd-tunnel')} &`);
  expect(await terminal.run(ASK_THROUGH_THE_TUNNEL)).toBe('through the tunnel');
}, 120_000);
