import { describe, expect, it } from '@jest/globals';
import { quotable, redacted } from './redaction.js';

const SECRET = 'aB3_-'.repeat(6).concat('xy');
const KEY_ID = '2Sd3gVzXW1vzFJpCFLqzmEJ9SgA';

describe('a text for the log loses', () => {
  it.each([
    ['a token after Bearer', `got "Authorization: Bearer ${SECRET}"`, 'got "Authorization: Bearer [redacted]"'],
    ['a password that begins as the example', 'postgres://user:password@x:y@h/a', 'postgres://[redacted]@h/a'],
    ['the secret half of an API key, not its id', `key ${KEY_ID}_${SECRET}!`, `key ${KEY_ID}_[redacted]!`],
    ['a JWT', 'token eyJhbGciOi.eyJzdWIiOi.c2lnbg is bad', 'token [redacted JWT] is bad'],
    [
      'a private key, even if it is cut off',
      'a -----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\nc2g=',
      'a [redacted private key]',
    ],
    ['the password of a URL', 'at postgres://me:p@ss:w/d@db:5432/x', 'at postgres://[redacted]@db:5432/x'],
  ])('%s', (_, text, expected) => {
    expect(redacted(text)).toBe(expected);
  });

  it.each([
    'duplicate key value violates unique constraint "events_stream_version"',
    `there is no account ac_${KEY_ID}`,
    'connect ECONNREFUSED 127.0.0.1:5432',
    'for example: postgres://user:password@db.example.com:5432/tunnel_access',
    'see https://docs.example.com/a?b#c and http://[::1]:80/',
    'file:///srv/app/dist/src/main.js:12:5',
  ])('nothing of %s', (text) => {
    expect(redacted(text)).toBe(text);
  });
});

it.each([
  ['h/a?token=secret', 'h/a?[redacted]'],
  ['h/a#secret', 'h/a?[redacted]'],
  ['me:secret@h/a', '[redacted]@h/a'],
  ['ftp://secret@h/a?b', 'ftp://[redacted]@h/a?[redacted]'],
  ['https://me:sec?ret@h', 'https://[redacted]@h'],
  ['nowhere', 'nowhere'],
])('a message quotes the refused value %s as %s', (value, quoted) => {
  expect(quotable(value)).toBe(quoted);
});
