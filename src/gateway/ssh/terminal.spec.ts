import { expect, it } from '@jest/globals';
import type { ChannelLink } from '../protocol/channel-link.js';
import type { Transport } from '../protocol/transport.js';
import { Terminal } from './terminal.js';

it('a line that comes while the shell is being answered is shown once', async () => {
  let shown = '';
  const link = {
    hasRoom: true,
    send: (data: Buffer) => {
      shown += data.toString();
      return data.length;
    },
  } as unknown as ChannelLink;
  const transport = { attempt: (act: () => void) => act() } as unknown as Transport;
  const terminal = new Terminal(
    () => false,
    () => undefined,
  );
  terminal.say('before');
  const session = terminal.open(link, transport);
  session?.receiveRequest('shell');
  terminal.say('meanwhile');
  await new Promise((resolve) => setImmediate(resolve));
  terminal.say('after');
  expect(shown).toBe('before\nmeanwhile\nafter\n');
});
