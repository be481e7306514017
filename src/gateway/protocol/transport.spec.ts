import { expect, it } from '@jest/globals';
import ssh2, { type ParsedKey } from 'ssh2';
import Protocol from 'ssh2/lib/protocol/Protocol.js';
import { ALGORITHMS } from '../ssh/algorithms.js';
import { AdmittedProtocol } from './admitted-protocol.js';

/** What `transport.ts` relies on in the library, which promises none of it: a new version must be read again. */

interface Half {
  readonly protocol: Protocol;
  readonly out: Buffer[];
  readonly heard: string[];
}

function half(isServer: boolean, options: object): Half {
  const [out, heard]: [Buffer[], string[]] = [[], []];
  const names = [
    'SERVICE_REQUEST',
    'USERAUTH_REQUEST',
    'GLOBAL_REQUEST',
    'CHANNEL_OPEN',
    'CHANNEL_DATA',
    'SERVICE_ACCEPT',
  ];
  const protocol = new (isServer ? AdmittedProtocol : Protocol)({
    server: isServer,
    messageHandlers: Object.fromEntries(
      names.map((name) => [name, (...args: unknown[]) => heard.push(`${name} ${args.length}`)]),
    ),
    onWrite: (data: Buffer) => out.push(Buffer.from(data)),
    onError: (error: Error) => heard.push(error.message),
    onPacket: () => heard.push('packet'),
    onHandshakeComplete: () => heard.push('handshake'),
    ...options,
  });
  return { protocol, out, heard };
}

function pair(serverOptions: object = {}): { readonly server: Half; readonly client: Half } {
  const { private: pem } = ssh2.utils.generateKeyPairSync('ed25519');
  const key = ssh2.utils.parseKey(pem) as ParsedKey;
  const { kex, cipher, hmac, compress } = ALGORITHMS;
  const oneWay = { cipher, mac: hmac, compress, lang: [] };
  const offer = { kex, serverHostKey: ['ssh-ed25519'], cs: oneWay, sc: oneWay };
  const server = half(true, { hostKeys: { 'ssh-ed25519': key }, offer, ...serverOptions });
  return { server, client: half(false, {}) };
}

/** Carries the bytes of one half to the other one. */
function deliver({ out }: Half, { protocol }: Half): void {
  for (const data of out.splice(0)) protocol.parse(data, 0, data.length);
}

function begin({ server, client }: ReturnType<typeof pair>): void {
  server.protocol.start();
  client.protocol.start();
  deliver(client, server);
}

function exchangeKeys({ server, client }: ReturnType<typeof pair>): void {
  for (let n = 0; n < 4; n += 1) {
    deliver(server, client);
    deliver(client, server);
  }
}

const askForService = ({ protocol }: Half): void =>
  (protocol as unknown as { service(name: string): void }).service('ssh-userauth');

it('the library counts packets, and says while it exchanges keys', () => {
  const both = pair();
  const { server, client } = both;
  expect(server.protocol._decipher).toBeUndefined();
  begin(both);
  expect(server.protocol._kexinit).toBeDefined();
  exchangeKeys(both);
  expect(server.heard).toContain('handshake');
  expect(server.protocol._kexinit).toBeUndefined();
  const before = server.protocol._decipher?.inSeqno ?? Number.NaN;
  askForService(client);
  deliver(client, server);
  expect(server.protocol._decipher?.inSeqno).toBe(before + 1);
  expect(server.heard.slice(-2)).toEqual(['packet', 'SERVICE_REQUEST 2']);
});

it('each packet is asked about before the library reads it, also after another key exchange', () => {
  const both = pair();
  begin(both);
  exchangeKeys(both);
  const { server, client } = both;
  const { service, rekey, tcpipForward } = client.protocol as unknown as Record<string, (...args: unknown[]) => void>;
  const say = (act: typeof service, ...args: unknown[]): void => {
    act?.call(client.protocol, ...args);
    deliver(client, server);
  };
  say(service, 'ssh-userauth');
  expect(() => say(tcpipForward, 'team=blue', 0, true)).toThrow('sent the message 80');
  (server.protocol as AdmittedProtocol).isLoggedIn = true;
  say(tcpipForward, 'team=blue', 0, true);
  expect(server.heard.at(-1)).toBe('GLOBAL_REQUEST 4');
  say(rekey);
  exchangeKeys(both);
  expect(server.heard.filter((one) => one === 'handshake')).toHaveLength(2);
  (server.protocol as AdmittedProtocol).isLoggedIn = false;
  expect(() => say(tcpipForward, 'team=blue', 0, true)).toThrow('sent the message 80');
});

it('the library sends each message that the gateway sends', () => {
  const { server } = pair();
  const sends = [
    ...['start', 'parse', 'disconnect', 'ping', 'serviceAccept', 'authSuccess', 'authFailure', 'authPKOK'],
    ...['requestSuccess', 'requestFailure', 'channelSuccess', 'channelFailure', 'channelOpenConfirm'],
    ...['channelOpenFail', 'forwardedTcpip', 'channelData', 'channelExtData', 'channelWindowAdjust', 'channelEOF'],
    ...['channelClose', 'exitStatus'],
  ];
  const protocol = server.protocol as unknown as Record<string, unknown>;
  expect(sends.filter((name) => typeof protocol[name] !== 'function')).toEqual([]);
});

it('a handler that throws ends the reading of the bytes behind it', () => {
  let heard = 0;
  const refuse = (): void => {
    heard += 1;
    throw new Error('enough');
  };
  const both = pair({ messageHandlers: { SERVICE_REQUEST: refuse } });
  begin(both);
  exchangeKeys(both);
  for (let n = 0; n < 3; n += 1) askForService(both.client);
  const all = Buffer.concat(both.client.out.splice(0));
  expect(() => both.server.protocol.parse(all, 0, all.length)).toThrow('enough');
  expect(heard).toBe(1);
});
