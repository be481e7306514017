import { describe, expect, it } from '@jest/globals';
import { describeDatabase, parseDatabaseUrl } from './database-url.js';

const hostsOf = (url: string) => parseDatabaseUrl(url).map(({ config: { host, port } }) => [host, port]);

describe('DATABASE_URL', () => {
  it.each([
    ['one host', 'postgres://u:p@h1:5432/db', [['h1', 5432]]],
    [
      'several hosts',
      'postgres://u:p@h1:5432,h2:5433,h3/db?target_session_attrs=read-write',
      [
        ['h1', 5432],
        ['h2', 5433],
        ['h3', undefined],
      ],
    ],
    [
      'IPv6 addresses in brackets',
      'postgresql://u@[::1]:5432,[fe80::2]/db',
      [
        ['::1', 5432],
        ['fe80::2', undefined],
      ],
    ],
    [
      'sockets',
      'postgres://u@%2Frun%2Fa:1,%2Frun%2Fb:2/db',
      [
        ['/run/a', 1],
        ['/run/b', 2],
      ],
    ],
    [
      'the parameters host and port',
      'postgres://u:p@/db?host=h1,h2&port=1,2',
      [
        ['h1', 1],
        ['h2', 2],
      ],
    ],
    [
      'one port for all hosts',
      'postgres:///db?host=h1,::1,/run/c&port=6432',
      [
        ['h1', 6432],
        ['::1', 6432],
        ['/run/c', 6432],
      ],
    ],
  ])('takes %s', (_, url, hosts) => {
    expect(hostsOf(url)).toEqual(hosts);
  });

  it('gives each host the same user, password, database and options', () => {
    for (const { config } of parseDatabaseUrl('postgres://us%40er:p%2Cw@h1,h2/db?options=-c%20a%3Db%2Bc')) {
      expect(config).toMatchObject({ user: 'us@er', password: 'p,w', database: 'db', options: '-c a=b+c' });
    }
  });

  it('reads an encoded password, also beside a blank', () => {
    const [host] = parseDatabaseUrl('postgres://u:%25%2F%3F%23%40%C3%BC a%2Fb@h/db');
    expect(host?.config).toMatchObject({ user: 'u', password: '%/?#@ü a/b' });
  });

  it.each([
    ['another scheme', 'mysql://u:secret@h/db', 'must be a URL that starts with postgres:// or postgresql://'],
    ['no URL', 'host=h1 password=secret', 'must be a URL that starts with postgres:// or postgresql://'],
    ['a standby', 'postgres://u:secret@h/db?target_session_attrs=standby', 'must not ask for a standby'],
    [
      'a port that is none',
      'postgres://u:secret@h1:5432,h2:99999/db',
      'has a host, a port or a login that is malformed',
    ],
    ['an IPv6 address without brackets', 'postgres://u:secret@fe80::1:5432,h2/db', 'has a malformed host'],
    ['a % that encodes no sign', 'postgres://u:secret%@h/db', 'is malformed; write % / ? # @ in a user'],
    ['a % that encodes no text', 'postgres://u:secret%ff@h/db', 'is malformed; write % / ? # @ in a user'],
    ['a / in a password', 'postgres://u:secret/secret@h/db', 'malformed host; write host:port'],
    ['a # in a password', 'postgres://u:secret#secret@h/db', 'is malformed; write % / ? # @ in a user'],
    [
      'an sslmode that libpq does not have',
      'postgres://u:secret@h/db?sslmode=no-verify',
      'as sslmode: disable, allow, ',
    ],
    ['too many ports', 'postgres:///db?host=h1,h2&port=1,2,3&password=secret', 'names 2 hosts and 3 ports'],
  ])('refuses %s without an echo', (_, url, message) => {
    const refusal = (): unknown => parseDatabaseUrl(url);
    expect(refusal).toThrow(message);
    expect(refusal).not.toThrow('secret');
  });

  it('is described with all hosts and without user and password', () => {
    expect(describeDatabase('postgres://me:secret@h1:5432,h2/db?password=secret')).toBe('PostgreSQL at h1:5432, h2/db');
  });
});
