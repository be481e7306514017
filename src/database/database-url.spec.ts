import { describe, expect, it } from '@jest/globals';
import { describeDatabase, parseDatabaseUrl } from './database-url.js';

describe('DATABASE_URL', () => {
  it.each([
    ['a host', 'postgres://u:p@h1:5432/db', { host: 'h1', port: 5432 }],
    ['a host without a port', 'postgres://u:p@h1/db?target_session_attrs=read-write', { host: 'h1' }],
    ['an IPv6 address in brackets', 'postgresql://u@[::1]:5432/db', { host: '::1', port: 5432 }],
    ['a socket', 'postgres://u@%2Frun%2Fa:1/db', { host: '/run/a', port: 1 }],
    ['the parameters host and port', 'postgres://u:p@/db?host=h1&port=1', { host: 'h1', port: 1 }],
    ['an IPv6 address as the parameter host', 'postgres:///db?host=::1&port=6432', { host: '::1', port: 6432 }],
    ['a socket as the parameter host', 'postgres:///db?host=/run/c', { host: '/run/c' }],
    ['an encoded login', 'postgres://us%40er:p%2Cw@h1/db', { user: 'us@er', password: 'p,w', database: 'db' }],
    ['options', 'postgres://u@h1/db?options=-c%20a%3Db%2Bc', { options: '-c a=b+c' }],
    [
      'an encoded password beside a blank',
      'postgres://u:%25%2F%3F%23%40%C3%BC a%2Fb@h/db',
      { user: 'u', password: '%/?#@ü a/b' },
    ],
  ])('takes %s', (_, url, config) => {
    expect(parseDatabaseUrl(url).config).toMatchObject(config);
  });

  it.each([
    ['another scheme', 'mysql://u:secret@h/db', 'must be a URL that starts with postgres:// or postgresql://'],
    ['no URL', 'host=h1 password=secret', 'must be a URL that starts with postgres:// or postgresql://'],
    ['a standby', 'postgres://u:secret@h/db?target_session_attrs=standby', 'must not ask for a standby'],
    ['the schema of Prisma', 'postgres://u:secret@h/db?schema=secret', 'must not have ?schema=, which PostgreSQL'],
    ['several hosts', 'postgres://u:secret@h1:5432,h2/db', 'must name one host: let a proxy such as haproxy'],
    ['several hosts as a parameter', 'postgres://u:secret@/db?host=h1,h2', 'must name one host: let a proxy'],
    ['several ports', 'postgres:///db?host=h1&port=1,2&password=secret', 'must name one host: let a proxy'],
    ['a port that is none', 'postgres://u:secret@h2:99999/db', 'has a host, a port or a login that is malformed'],
    ['an IPv6 address without brackets', 'postgres://u:secret@fe80::1:5432/db', 'has a malformed host'],
    ['a % that encodes no sign', 'postgres://u:secret%@h/db', 'is malformed; write % / ? # @ in a user'],
    ['a % that encodes no text', 'postgres://u:secret%ff@h/db', 'is malformed; write % / ? # @ in a user'],
    ['a / in a password', 'postgres://u:secret/secret@h/db', 'malformed host; write host:port'],
    ['a # in a password', 'postgres://u:secret#secret@h/db', 'is malformed; write % / ? # @ in a user'],
    [
      'an sslmode that libpq does not have',
      'postgres://u:secret@h/db?sslmode=no-verify',
      'as sslmode: disable, require',
    ],
    [
      'sslmode=prefer',
      'postgres://u:secret@h/db?sslmode=prefer',
      'must not have sslmode=prefer: write sslmode=require',
    ],
  ])('refuses %s without an echo', (_, url, message) => {
    const refusal = (): unknown => parseDatabaseUrl(url);
    expect(refusal).toThrow(message);
    expect(refusal).not.toThrow('secret');
  });

  it('is described without user and password', () => {
    expect(describeDatabase('postgres://me:secret@h1:5432/db?password=secret')).toBe('PostgreSQL at h1:5432/db');
  });
});
