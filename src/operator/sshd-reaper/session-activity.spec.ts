import { describe, expect, it } from '@jest/globals';
import { childOf, SessionActivity } from './session-activity.js';

const AT = Date.UTC(2026, 10, 22, 12);

/** Lines of one bind, as OpenSSH 9.2 writes them to syslog. Since 9.8 the place names the program too. */
const ofBind = (...texts: readonly string[]): string[] =>
  texts.map((text) => `debug1: channels.c:channel_setup_fwd_listener_tcpip():3810 (pid=4712): ${text}`);
const asks = (host: string, isWildcard = false): string => `type 11 wildcard ${isWildcard ? 1 : 0} addr ${host}`;
const listens = (address: string, port: number): string => `Local forwarding listening on ${address} port ${port}.`;

function activityOf(...messages: readonly string[]): SessionActivity {
  const activity = new SessionActivity();
  for (const message of messages) activity.take({ message, at: AT });
  return activity;
}

describe('the log of a session tells', () => {
  it.each([
    ['the host that the client asked for', [asks('a.test'), listens('127.0.1.2', 7001)], 'a.test', ['127.0.1.2'], 7001],
    [
      'localhost',
      [asks('NULL'), listens('::1', 7001), listens('127.0.0.1', 7001)],
      'localhost',
      ['::1', '127.0.0.1'],
      7001,
    ],
    ['all addresses', [asks('NULL', true), listens('0.0.0.0', 7001)], undefined, ['0.0.0.0'], 7001],
    [
      'the port that sshd chose',
      [asks('a.test'), listens('::1', 0), 'Allocated listen port 40007', listens('127.0.0.1', 40007)],
      ...(['a.test', ['::1', '127.0.0.1'], 40007] as const),
    ],
  ])('a bind with %s', (_, texts, host, addresses, port) => {
    expect(activityOf(...ofBind(...texts)).binds).toEqual([{ host, since: AT, addresses, port }]);
  });

  it('a bind in the form of OpenSSH 9.8', () => {
    const place = 'debug1: channels.c:channel_setup_fwd_listener_tcpip():3810 (bin=sshd-session, pid=4712): ';
    expect(activityOf(`${place}${asks('a.test')}`, `${place}${listens('127.0.1.2', 7001)}`).binds).toHaveLength(1);
  });

  it('no bind whose port is taken, or whose host is unknown', () => {
    const failed = ['bind [127.0.1.2]:7001: Address already in use', 'cannot listen to port: 7001'];
    const texts = [asks('a.test'), listens('127.0.1.2', 7001), ...failed, asks('b.test'), asks('c.test')];
    expect(activityOf(...ofBind(...texts, listens('127.0.1.3', 7002))).binds).toMatchObject([{ host: 'c.test' }]);
  });

  it('no bind by the words of a client', () => {
    const [, line = ''] = ofBind(asks('a.test'), listens('127.0.1.2', 7001));
    const texts = [...ofBind(asks('a.test')), `Received disconnect from 192.0.2.7 port 5:11: ${line}`];
    expect(activityOf(...texts).binds).toEqual([]);
  });

  it.each([
    ['Received disconnect from 192.0.2.7 port 50312:11: disconnected by user', 'client'],
    ['Disconnected from user tunnel 192.0.2.7 port 50312', 'client'],
    ['Connection closed by 192.0.2.7 port 50312', 'lost'],
    ['Timeout, client not responding from user tunnel 192.0.2.7 port 50312', 'lost'],
    ['Read error from remote host 192.0.2.7 port 50312: Connection reset by peer', 'lost'],
    ['Transferred: sent 3128, received 3420 bytes', undefined],
  ])('why it ends: %s', (message, reason) => {
    expect(activityOf(message).endReason).toBe(reason);
  });

  it('which process serves the client, if root says it', () => {
    const record = { at: AT, program: 'sshd', pid: 4711, isRoot: true, message: 'User child is on pid 4712' };
    expect(childOf(record)).toBe(4712);
    expect(childOf({ ...record, isRoot: false })).toBeUndefined();
    expect(childOf({ ...record, program: 'other' })).toBeUndefined();
  });
});
