import { expect, it } from '@jest/globals';
import type { GatewayContext } from '../context/gateway-context.js';
import type { Connection } from '../protocol/connection.js';
import type { TunnelRecord } from '../records/tunnel-record.js';
import type { GatewaySettings } from '../settings-table.js';
import { ClientChannels } from './client-channels.js';
import { ClientUsage, Limits } from './limits.js';
import type { Terminal } from './terminal.js';

const PLACES = 150;
const NO_LIMITS = {
  ...{ maxConnections: 0, maxBinds: 0, maxBytesPerSecond: 0, maxRequestsPerSecond: 0 },
  ...{ maxAccountConnections: 0, maxAccountBinds: 0, maxAccountChannels: 0 },
};

/** The channels of a client that answers nothing, with the functions that tell that it has closed one. */
function channelsOfSilentClient() {
  const close: (() => void)[] = [];
  const connection = {
    transport: { isOpen: true },
    channels: { ask: (_addresses: object, _answered: unknown, closed: () => void) => void close.push(closed) },
  };
  const limits = new Limits({ ...NO_LIMITS, maxChannels: PLACES } as GatewaySettings);
  const usage = new ClientUsage({ credentialId: 'sshcr_1', accountId: 'ac_1', source: '192.0.2.1' }, limits);
  const channels = new ClientChannels(
    connection as unknown as Connection,
    usage,
    {} as GatewayContext,
    { say: () => undefined } as unknown as Terminal,
  );
  const refused: string[] = [];
  const visit = async (address: string): Promise<void> => {
    const endpoint = { address, port: 5_000 };
    const opened = channels.open({ address: '127.0.0.1', port: 1 }, endpoint, {} as TunnelRecord);
    opened.catch((error: Error) => refused.push(error.message));
    await new Promise(setImmediate);
  };
  return { close, refused, visit };
}

it('a client that closes no channel gets no more visitors, once a hundred have lost their places', async () => {
  const { close, refused, visit } = channelsOfSilentClient();
  for (let n = 0; n < PLACES; n += 1) await visit('198.51.100.1');
  for (let n = 0; n < 100; n += 1) await visit(`203.0.113.${n}`);
  expect(refused).toEqual(Array(100).fill('another visitor needs its place'));
  await visit('203.0.113.200');
  expect(refused.at(-1)).toBe('the client does not close its channels');
  for (const closed of close) closed();
  await visit('203.0.113.200');
  expect(refused).toHaveLength(101);
});
