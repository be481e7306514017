import { describe, expect, it } from '@jest/globals';
import { childOf, SessionBinds } from './session-binds.js';

/** Lines of one bind, as OpenSSH 9.2 writes them to syslog. Since 9.8 the place names the program too. */
const ofBind = (...texts: readonly string[]): string[] =>
  texts.map((text) => `debug1: channels.c:channel_setup_fwd_listener_tcpip():3810 (pid=4712): ${text}`);
const asks = (host: string, isWildcard = false): string => `type 11 wildcard ${isWildcard ? 1 : 0} addr ${host}`;
const listens = (address: string, port: number): string => `Local forwarding listening on ${address} port ${port}.`;

function bindsOf(...messages: readonly string[]) {
  const binds = new SessionBinds();
  for (const message of messages) binds.take(message);
  return binds.all;
}

describe('the log of a session tells', () => {
  it.each([
    ['the host that the client asked for', [asks('a.test'), listens('127.0.1.2', 7001)], 'a.test', 7001],
    ['localhost', [asks('NULL'), listens('::1', 7001), listens('127.0.0.1', 7001)], 'localhost', 7001],
    ['all addresses', [asks('NULL', true), listens('0.0.0.0', 7001)], undefined, 7001],
    [
      'the port that sshd chose',
      [asks('a.test'), listens('::1', 0), 'Allocated listen port 40007', listens('127.0.0.1', 40007)],
      ...(['a.test', 40007] as const),
    ],
  ])('a bind with %s', (_, texts, host, port) => {
    expect(bindsOf(...ofBind(...texts))).toEqual([{ host, port }]);
  });

  it('a bind in the form of OpenSSH 9.8', () => {
    const place = 'debug1: channels.c:channel_setup_fwd_listener_tcpip():3810 (bin=sshd-session, pid=4712): ';
    expect(bindsOf(`${place}${asks('a.test')}`, `${place}${listens('127.0.1.2', 7001)}`)).toHaveLength(1);
  });

  it('no bind whose port is taken, or whose host is unknown', () => {
    const failed = ['bind [127.0.1.2]:7001: Address already in use', 'cannot listen to port: 7001'];
    const texts = [asks('a.test'), listens('127.0.1.2', 7001), ...failed, asks('b.test'), asks('c.test')];
    expect(bindsOf(...ofBind(...texts, listens('127.0.1.3', 7002)))).toEqual([{ host: 'c.test', port: 7002 }]);
  });

  it('no bind by the words of a client', () => {
    const [, line = ''] = ofBind(asks('a.test'), listens('127.0.1.2', 7001));
    const texts = [...ofBind(asks('a.test')), `Received disconnect from 192.0.2.7 port 5:11: ${line}`];
    expect(bindsOf(...texts)).toEqual([]);
  });

  it('a bind that stays when the client asks for it a second time, in vain', () => {
    const once = [asks('a.test'), listens('127.0.1.2', 7001)];
    expect(bindsOf(...ofBind(...once, ...once, 'cannot listen to port: 7001'))).toHaveLength(1);
  });

  it('no bind at all if it tells of more than the reaper keeps, since others may be missing', () => {
    const bindAt = (port: number): string[] => ofBind(asks('a.test'), listens('127.0.1.2', port));
    const binds = Array.from({ length: 1_001 }, (_, n) => bindAt(7_001 + n));
    expect(bindsOf(...binds.slice(1).flat())).toHaveLength(1_000);
    expect(bindsOf(...binds.flat())).toEqual([]);
  });

  it('which process serves the client, if root says it', () => {
    const record = { at: undefined, program: 'sshd', pid: 4711, isRoot: true, message: 'User child is on pid 4712' };
    expect(childOf(record)).toBe(4712);
    expect(childOf({ ...record, isRoot: false })).toBeUndefined();
    expect(childOf({ ...record, program: 'other' })).toBeUndefined();
  });
});
