import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { networksIn } from '../../src/rules/index.js';
import { eventually } from '../support/eventually.js';
import { startHaproxy } from '../support/haproxy.js';
import { stopAtEnd } from '../support/leftovers.js';
import { OwnGateway } from '../support/own-gateway.js';
import { logIn } from '../support/ssh-client.js';

const BALANCER = '127.0.0.2';
const proxyProtocolFrom = networksIn(`192.0.2.0/24,${BALANCER}`);

let trial: OwnGateway;
beforeAll(async () => {
  trial = await OwnGateway.start({ proxyProtocolFrom });
});

/** Bytes from this address, as they are. */
function send(localAddress: string, bytes: string, gateway = trial): Socket {
  const socket = connect({ host: '127.0.0.1', port: gateway.port, localAddress, noDelay: true });
  stopAtEnd(async () => void socket.destroy());
  socket.on('error', () => undefined).write(bytes);
  return socket;
}

/** Lines of the log before this test. */
let linesBefore: number;
beforeEach(() => {
  linesBefore = trial.log.length;
});
const lines = () => trial.log.slice(linesBefore);
const linesAbout = (text: string) => lines().filter(({ message }) => message.includes(text));
const ended = async (reason: string): Promise<number> =>
  Number(new RegExp(`ended_connections_total\\{reason="${reason}"\\} (\\d+)`).exec(await trial.metrics())?.[1] ?? 0);

describe('behind a balancer that is named', () => {
  it.each([['send-proxy'], ['send-proxy-v2']])(
    '%s of haproxy: rights count for the address of the client',
    async (option) => {
      const port = await startHaproxy(trial.port, `source ${BALANCER} ${option}`);
      const key = await trial.newCredential('bind:team=blue');
      await trial.service.admin.put(`/ssh_credentials/${key.id}/source_restriction`, { cidrs: ['127.0.0.3/32'] });
      const [own, other] = await Promise.all(
        ['127.0.0.3', '127.0.0.4'].map((address) => logIn(port, key, '-b', address, '-R', 'team=blue:0:127.0.0.1:1')),
      );
      expect([own?.isOpen, other?.isOpen]).toEqual([true, false]);
      expect(linesAbout('the credential may not be used from 127.0.0.4')).toHaveLength(1);
      await own?.close();
    },
  );

  it('the limits of a source count clients, not the balancer', async () => {
    const settings = { proxyProtocolFrom, maxConnectionsPerSecond: 1 };
    const paced = await OwnGateway.startFor(trial.service, trial.service.app.url, settings);
    const from = (client: string): Socket => send(BALANCER, `PROXY TCP4 ${client} 192.0.2.1 5000 22\r\n`, paced);
    const greeted = async (socket: Socket): Promise<boolean> =>
      Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)]);
    const answers: boolean[] = [];
    for (const client of ['8', '8', '8', '8', '9', '10']) answers.push(await greeted(from(`203.0.113.${client}`)));
    expect(answers).toEqual([true, true, true, false, true, true]);
    expect(await paced.metrics()).toMatch(/refused_connections_total\{reason="rate"\} 1/);
  });

  it('a check of health that waits for the greeting succeeds, and leaves no line in the log', async () => {
    const check = `source ${BALANCER} send-proxy-v2 check inter 50 fall 1 rise 100`;
    const port = await startHaproxy(trial.port, check, 'option tcp-check', 'tcp-check expect rstring ^SSH-2.0-');
    await sleep(1_000);
    expect(lines()).toEqual([]);
    const login = await logIn(port, await trial.newCredential('bind:team=blue'), '-R', 'team=blue:0:127.0.0.1:1');
    expect(login.isOpen).toBe(true);
    await login.close();
  });

  it.each([
    ['SSH-2.0-client\r\n', 'begins without a header of the PROXY protocol'],
    ['PROXY TCP4 client 192.0.2.1 5000 22\r\n', 'sends a line of the PROXY protocol that cannot be read'],
    ['', 'sent no header of the PROXY protocol in 5000 ms'],
  ])(
    'a connection that begins with %j is ended, with a line that names the balancer',
    async (bytes, sentence) => {
      const before = await ended('proxy_header');
      const socket = send(BALANCER, bytes).resume();
      await once(socket, 'close');
      expect(socket.bytesRead).toBe(0);
      const message = `ended a connection: the client is a balancer of GATEWAY_PROXY_PROTOCOL_FROM and ${sentence}`;
      await eventually(() => expect(linesAbout(message)).toMatchObject([{ source: BALANCER, reason: 'proxy_header' }]));
      expect(await ended('proxy_header')).toBe(before + 1);
    },
    10_000,
  );
});

it('a header from anybody else is no header, and names no client', async () => {
  const before = await ended('protocol');
  const socket = send('127.0.0.3', 'PROXY TCP4 203.0.113.99 192.0.2.1 5000 22\r\nSSH-2.0-client\r\n').resume();
  await once(socket, 'close');
  await eventually(async () => expect(await ended('protocol')).toBe(before + 1));
  for (const line of lines()) expect(line).toMatchObject({ source: '127.0.0.3' });
  expect(lines().length).toBeGreaterThan(0);
});

it.each([['balancer.example.com'], ['192.0.2.1/24'], ['192.0.2.0/33'], ['']])(
  'GATEWAY_PROXY_PROTOCOL_FROM=%j is refused with the way out',
  (text) => {
    expect(() => networksIn(text)).toThrow('must be addresses or networks, separated by commas: the entry');
  },
);
