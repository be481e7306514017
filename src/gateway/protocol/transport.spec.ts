import { createECDH, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import ssh2, { type ParsedKey } from 'ssh2';
import Protocol from 'ssh2/lib/protocol/Protocol.js';
import { ALGORITHMS } from '../ssh/algorithms.js';
import { newPrivateKey } from '../ssh/host-key.js';
import { AdmittedProtocol } from './admitted-protocol.js';

/**
 * The behaviour of the library that `transport.ts` relies on. The library does not promise it: read a new version
 * again.
 */

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
  const config = {
    server: isServer,
    messageHandlers: Object.fromEntries(
      names.map((name) => [name, (...args: unknown[]) => heard.push(`${name} ${args.length}`)]),
    ),
    onWrite: (data: Buffer) => out.push(Buffer.from(data)),
    onError: (error: Error) => heard.push(error.message),
    onPacket: () => heard.push('packet'),
    onHandshakeComplete: () => heard.push('handshake'),
    ...options,
  };
  const preferred = { kex: ALGORITHMS.kex[0], hostKey: 'ssh-ed25519' };
  const protocol = isServer ? new AdmittedProtocol(config, preferred) : new Protocol(config);
  return { protocol, out, heard };
}

function pair(serverOptions: object = {}): { readonly server: Half; readonly client: Half } {
  const key = ssh2.utils.parseKey(newPrivateKey('ed25519')) as ParsedKey;
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

describe('a client that guesses the key exchange', () => {
  const list = (...names: readonly string[]): Buffer => {
    const text = Buffer.from(names.join(','));
    return Buffer.concat([uint32(text.length), text]);
  };
  const uint32 = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const packet = (payload: Buffer): Buffer => {
    const padding = 8 - ((payload.length + 5) % 8) + (8 - ((payload.length + 5) % 8) < 4 ? 8 : 0);
    return Buffer.concat([
      uint32(payload.length + padding + 1),
      Buffer.from([padding]),
      payload,
      Buffer.alloc(padding),
    ]);
  };
  const guessing = (kex: readonly string[], hostKeys: readonly string[]): Buffer => {
    const oneWay = [list('aes128-ctr'), list('aes128-ctr'), list('hmac-sha2-256'), list('hmac-sha2-256')];
    const rest = [list('none'), list('none'), list(), list(), Buffer.from([1]), uint32(0)];
    return packet(
      Buffer.concat([Buffer.from([20]), Buffer.alloc(16), list(...kex), list(...hostKeys), ...oneWay, ...rest]),
    );
  };
  const KEXDH_INIT = 30;
  const KEXDH_REPLY = 31;
  const initOf = (publicKey: Buffer): Buffer =>
    packet(Buffer.concat([Buffer.from([KEXDH_INIT]), uint32(publicKey.length), publicKey]));
  const x25519 = (): Buffer =>
    generateKeyPairSync('x25519').publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  const nistp256 = (): Buffer => {
    const ecdh = createECDH('prime256v1');
    return ecdh.generateKeys();
  };
  const WRONG_GUESS = packet(Buffer.concat([Buffer.from([KEXDH_INIT]), uint32(3), Buffer.from('bad')]));
  const CURVE = ['curve25519-sha256', 'ecdh-sha2-nistp256'];
  const NIST = ['ecdh-sha2-nistp256', 'curve25519-sha256'];
  const ED25519 = ['ssh-ed25519', 'ecdsa-sha2-nistp256'];

  it.each([
    ['right has its answer at once', CURVE, ED25519, [initOf(x25519())]],
    ['wrong has that packet passed over', NIST, ED25519, [WRONG_GUESS, initOf(nistp256())]],
    ['what the gateway does not have', ['sntrup761x25519-sha512', ...CURVE], ED25519, [WRONG_GUESS, initOf(x25519())]],
    ['another host key', CURVE, ED25519.toReversed(), [WRONG_GUESS, initOf(x25519())]],
  ])('%s', (_, kex, hostKeys, packets) => {
    const { server } = pair();
    server.protocol.start();
    // Dropbear sends all of it at once.
    const sent = Buffer.concat([Buffer.from('SSH-2.0-guess\r\n'), guessing(kex, hostKeys), ...packets]);
    server.protocol.parse(sent, 0, sent.length);
    expect(server.out.map((data) => data[5])).toContain(KEXDH_REPLY);
    expect(server.heard.filter((one) => one !== 'packet')).toEqual([]);
    // The guess was about that packet, and not about the packets of a later key exchange.
    expect(Reflect.get(server.protocol, 'hasGuess')).toBe(false);
  });
});
