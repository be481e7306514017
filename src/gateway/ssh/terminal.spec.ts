import { describe, expect, it } from '@jest/globals';
import type { ChannelLink } from '../protocol/channel-link.js';
import type { Transport } from '../protocol/transport.js';
import { Session } from './session.js';
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
  session?.receiveRequest('shell', undefined);
  terminal.say('meanwhile');
  await new Promise((resolve) => setImmediate(resolve));
  terminal.say('after');
  expect(shown).toBe('before\nmeanwhile\nafter\n');
});

describe('a session with the command', () => {
  const ask = async (command: string) => {
    let shown = '';
    const send = (data: Buffer): number => {
      shown += data.toString();
      return data.length;
    };
    const link = { send } as unknown as ChannelLink;
    const transport = { attempt: (act: () => void) => act() } as unknown as Transport;
    const session = new Session(
      Object.assign(link, { exit: () => undefined, eof: () => undefined, close: () => undefined }),
      transport,
      { shown: () => undefined, interrupted: () => undefined, closed: () => undefined },
    );
    const isGranted = session.receiveRequest('exec', command);
    await new Promise((resolve) => setImmediate(resolve));
    return { isGranted, isShown: session.isShown, shown };
  };

  it.each(['http', 'https', 'tcp'])('%s shows what a shell shows', async (command) => {
    expect(await ask(command)).toEqual({ isGranted: true, isShown: true, shown: '' });
  });

  it('tls says why it is refused', async () => {
    expect((await ask('tls')).shown).toMatch(/^refused: this gateway does not pass TLS on by name/);
  });

  it.each(['ls', 'constructor'])('%s is refused', async (command) => {
    expect(await ask(command)).toEqual({ isGranted: false, isShown: false, shown: '' });
  });
});
