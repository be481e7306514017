/**
 * One attack on an SSH gateway, in a process of its own, until it is killed: `node hostile-client.mjs ATTACK PORT
 * KEY-FILE`. Traffic goes to this machine only.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import ssh2 from 'ssh2';
import Protocol from 'ssh2/lib/protocol/Protocol.js';

const HOST = '127.0.0.1';
/** Connections that come at once at most: those of 20 ms. */
const MAX_BURST = 120;
const [attack, portText, keyFile] = process.argv.slice(2);
const port = Number(portText);
process.on('uncaughtException', () => undefined);
process.on('unhandledRejection', () => undefined);

const uint32 = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const text = (value) => {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint32(bytes.length), bytes]);
};
const message = (number, ...fields) => Buffer.concat([Buffer.from([number]), ...fields]);
const globalRequest = (name, wantsReply, ...fields) =>
  message(80, text(name), Buffer.from([wantsReply ? 1 : 0]), ...fields);
const data = (channel, size) => message(94, uint32(channel), text(Buffer.alloc(size)));

/** A client that can send any bytes. `heard` gets the names and fields of the messages that it receives. */
function raw(localAddress, heard) {
  const socket = connect({ host: HOST, port, localAddress, noDelay: true });
  const names = ['SERVICE_ACCEPT', 'USERAUTH_SUCCESS', 'USERAUTH_FAILURE', 'REQUEST_SUCCESS', 'CHANNEL_OPEN'];
  names.push('CHANNEL_OPEN_CONFIRMATION', 'CHANNEL_CLOSE', 'CHANNEL_WINDOW_ADJUST');
  const protocol = new Protocol({
    messageHandlers: Object.fromEntries(names.map((name) => [name, (_, ...fields) => heard(client, name, fields)])),
    onWrite: (bytes) => socket.destroyed || socket.write(bytes),
    onError: () => socket.destroy(),
    onHandshakeComplete: () => heard(client, 'HANDSHAKE', []),
  });
  const client = {
    socket,
    protocol,
    send(...payloads) {
      socket.cork();
      for (const payload of payloads) {
        const { write } = protocol._packetRW;
        const packet = write.alloc(payload.length);
        packet.set(payload, write.allocStart);
        protocol._cipher.encrypt(write.finalize(packet));
      }
      socket.uncork();
    },
    /** Calls `act` again and again, as fast as the gateway reads. */
    flood(act) {
      const go = () => {
        for (let n = 0; n < 50 && !socket.destroyed && !socket.writableNeedDrain; n += 1) act();
        if (socket.destroyed) return;
        if (socket.writableNeedDrain) socket.once('drain', go);
        else setImmediate(go);
      };
      go();
    },
  };
  socket.on('error', () => undefined);
  socket.on('data', (bytes) => {
    try {
      protocol.parse(bytes, 0, bytes.length);
    } catch {
      socket.destroy();
    }
  });
  protocol.start();
  return client;
}

const key = ssh2.utils.parseKey(readFileSync(keyFile));

/** Logs in and then calls `act`. Starts again whenever the gateway ends the connection. */
function loggedIn(act, heard = () => undefined) {
  const client = raw(HOST, (self, name, fields) => {
    if (name === 'HANDSHAKE' && !self.isIn) self.protocol.service('ssh-userauth');
    else if (name === 'SERVICE_ACCEPT')
      self.protocol.authPK('any', key, undefined, (bytes, done) => done(key.sign(bytes)));
    else if (name === 'USERAUTH_SUCCESS') {
      self.isIn = true;
      act(self);
    } else heard(self, name, fields);
  });
  client.socket.once('close', () => setTimeout(() => loggedIn(act, heard), 50));
  return client;
}

/** A bind with visitors. `opened` gets each channel. */
function withVisitors(count, opened) {
  loggedIn(
    (client) => client.send(globalRequest('tcpip-forward', true, text(HOST), uint32(0))),
    (client, name, [first]) => {
      if (name === 'REQUEST_SUCCESS' && first !== null) {
        for (let n = 0; n < count; n += 1) {
          const visitor = connect(first.readUInt32BE(0), HOST).on('error', () => undefined);
          visitor.pause();
          client.visitors = [...(client.visitors ?? []), visitor];
        }
      } else if (name === 'CHANNEL_OPEN') {
        client.send(message(91, uint32(first.sender), uint32(first.sender), uint32(2 ** 21), uint32(2 ** 15)));
        opened(client, first.sender);
      }
    },
  );
}

const many = (count, act) => Array.from({ length: count }, (_, n) => act(n));
function dial(n, act) {
  const socket = connect({ host: HOST, port, localAddress: `127.0.2.${1 + (n % 10)}` }).on('error', () => undefined);
  socket.resume().once('close', () => setTimeout(() => dial(n, act), 20));
  act(socket);
}

const ATTACKS = {
  'no newline from 50 strangers': () =>
    many(50, (n) => dial(n, (socket) => socket.on('connect', () => writeOn(socket, Buffer.alloc(65_536, 'x'))))),
  'idle strangers, 500 from 10 addresses': () =>
    many(500, (n) => dial(n, (socket) => socket.write('SSH-2.0-idle\r\n'))),
  'connections that come and go': () =>
    many(20, (n) => dial(n, (socket) => socket.on('connect', () => socket.destroy()))),
  '6,000 connections a second of one stranger': () => {
    let [made, began] = [0, performance.now()];
    setInterval(() => {
      const due = (performance.now() - began) * 6;
      // A stranger's machine does not wait for this one's cores: what is late is not made up for in one burst.
      made = Math.max(made, due - MAX_BURST);
      for (; made < due; made += 1) {
        const socket = connect({ host: HOST, port, localAddress: '127.0.3.1' }).on('error', () => undefined);
        socket.resume();
      }
    }, 1);
  },
  'handshakes without a login': () =>
    many(20, function again(n) {
      const client = raw(`127.0.2.${1 + n}`, (self, name) => name === 'HANDSHAKE' && self.socket.destroy());
      client.socket.once('close', () => setImmediate(() => again(n)));
    }),
  'requests to log in without end': () =>
    many(20, function again(n) {
      const client = raw(`127.0.2.${1 + n}`, (self, name) => {
        if (name === 'HANDSHAKE') self.protocol.service('ssh-userauth');
        else self.send(message(50, text('any'), text('ssh-connection'), text('none')));
      });
      client.socket.once('close', () => setImmediate(() => again(n)));
    }),
  'global requests without end, 20 connections': () =>
    many(20, () => loggedIn((client) => client.flood(() => client.send(globalRequest('x', true))))),
  'messages that have no answer, 20 connections': () =>
    many(20, () => loggedIn((client) => client.flood(() => client.send(message(81), message(2, text('x')))))),
  'binds without end, 20 connections': () =>
    many(20, () =>
      loggedIn((client) =>
        client.flood(() => client.send(globalRequest('tcpip-forward', false, text('a=b'), uint32(0)))),
      ),
    ),
  'key exchanges without end, 20 connections': () =>
    many(20, () =>
      loggedIn(
        (client) => client.protocol.rekey(),
        (client, name) => name === 'HANDSHAKE' && client.protocol.rekey(),
      ),
    ),
  'sessions without end, 20 connections': () =>
    many(20, () =>
      loggedIn((client) =>
        client.flood(() => client.send(message(90, text('session'), uint32(0), uint32(2 ** 21), uint32(2 ** 15)))),
      ),
    ),
  '100 MB beyond the window': () => withVisitors(1, (client, id) => client.flood(() => client.send(data(id, 32_000)))),
  'packets of one byte to 200 visitors that do not read': () =>
    withVisitors(200, (client, id) => {
      let left = 2 ** 21;
      client.flood(() => left-- > 0 && client.send(data(id, 1)));
    }),
  'full windows of 1,000 visitors that do not read': () =>
    withVisitors(1_000, (client, id) => many(65, () => client.send(data(id, 32_000)))),
  'a key exchange that never ends, and 100 MB for the client': () =>
    withVisitors(100, (client) => {
      if (client.isStuck || client.visitors.length < 100) return;
      client.isStuck = true;
      client.send(message(20, Buffer.alloc(16), ...many(10, () => text('x')), Buffer.alloc(5)));
      for (const visitor of client.visitors) visitor.write(Buffer.alloc(1_000_000));
    }),
  'bytes as fast as they go, 20 connections': () =>
    many(20, () =>
      withVisitors(1, (client, id) => {
        client.visitors[0].resume();
        client.left = 2 ** 21;
        client.socket.on('data', () => undefined);
        client.flood(() => client.send(data(id, 20_000)));
      }),
    ),
};

function writeOn(socket, bytes) {
  while (!socket.destroyed && socket.write(bytes)) if (socket.writableLength > 1_000_000) break;
  socket.once('drain', () => writeOn(socket, bytes));
}

if (attack === '--list') console.log(JSON.stringify(Object.keys(ATTACKS)));
else {
  ATTACKS[attack]();
  console.log('attacking');
  setTimeout(() => process.exit(0), 120_000);
}
