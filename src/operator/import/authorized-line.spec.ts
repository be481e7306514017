import { describe, expect, it } from '@jest/globals';
import { authorizedKeys } from '../../api/gateway-api/binds/authorized-keys.js';
import { ALL_FREE } from '../../api/reservations/reservation.js';
import { timeZone } from '../../rules/index.js';
import { readAuthorizedLine } from './authorized-line.js';
import { Left } from './left.js';
import type { ImportOptions } from './report.js';

const BLOB = 'AAAAC3NzaC1lZDI1NTE5AAAAIIG9v9jGhBGWcOAsbCKnvFXEWkuT+fnkFbvsG6t8qkp4';
const KEY = `ssh-ed25519 ${BLOB}`;
const STRICT: ImportOptions = {};
const LAX: ImportOptions = { allowEverything: true, timezone: timeZone('Europe/Berlin') as Intl.DateTimeFormat };

const read = (line: string, options = STRICT) => readAuthorizedLine(line, options);
const listening = (listen: string): string => `restrict,port-forwarding,permitlisten="${listen}" ${KEY}`;
const at8001 = (options: string): string => `${options},permitlisten="8001" ${KEY}`;

/** Each is left, even where everything and a zone are given: a credential of it would permit more than sshd does. */
const HOSTILE: readonly (readonly [line: string, reason: string])[] = [
  // Forwarding that the options take away
  [`restrict ${KEY}`, 'forbid'],
  [`no-port-forwarding ${KEY}`, 'forbid'],
  [at8001('restrict'), 'forbid'],
  [at8001('RESTRICT'), 'forbid'],
  [at8001('No-Port-Forwarding'), 'forbid'],
  [at8001('port-forwarding,restrict'), 'forbid'],
  [at8001('port-forwarding,no-port-forwarding'), 'forbid'],
  [at8001('restrict,pty'), 'forbid'],
  // Who may come, and from where
  [at8001('from="10.0.0.0/8,!10.1.2.3"'), 'exceptions'],
  [at8001('from="!10.1.2.3,10.0.0.0/8"'), 'exceptions'],
  [at8001('from="*.example.com"'), 'names, patterns'],
  [at8001('from="10.1.2.*"'), 'names, patterns'],
  [at8001('from="10.1.2.?"'), 'names, patterns'],
  [at8001('from="gateway.example.com"'), 'names, patterns'],
  [at8001('from="10.1.2.3/8"'), 'bits after the prefix'],
  [at8001('from="010.0.0.1"'), 'names, patterns'],
  [at8001('from="10.1"'), 'names, patterns'],
  [at8001('from="::ffff:10.0.0.1"'), 'names, patterns'],
  [at8001('from="::ffff:10.0.0.0/104"'), 'names, patterns'],
  [at8001('from="fe80::1%eth0"'), 'names, patterns'],
  [at8001('from="10.0.0.1, 10.0.0.2"'), 'names, patterns'],
  [at8001('from=""'), 'names, patterns'],
  [at8001('from="10.0.0.1,"'), 'names, patterns'],
  [at8001('from="10.0.0.1",from="10.0.0.2"'), 'repeated'],
  [at8001('from=10.0.0.1'), 'cannot be read'],
  [at8001('from'), 'incomplete'],
  // What may be bound
  [listening('*.*.example.com:80'), 'pattern'],
  [listening('dev-*.example.com:80'), 'pattern'],
  [listening('app?.example.com:80'), 'pattern'],
  [listening('*.0.0.1:80'), 'pattern'],
  [listening('app=web'), 'no port'],
  [listening('app=web:80'), 'spelling'],
  [listening('*=*:80'), 'pattern'],
  [listening('App.example.com:80'), 'spelling'],
  [listening('app.example.com.:80'), 'spelling'],
  [listening('bücher.example:80'), 'spelling'],
  [listening('[2001:db8:0::1]:80'), 'spelling'],
  [listening(':80'), 'no port'],
  [listening('0'), 'no port'],
  [listening('080'), 'no port'],
  [listening('localhost:http'), 'no port'],
  [listening('8000-8010'), 'no port'],
  [listening('70000'), 'pattern'],
  [listening('none'), 'no port'],
  [listening('localhost/80'), 'no port'],
  [listening(''), 'no port'],
  // Until when
  [at8001('expiry-time="20990231"'), 'no time'],
  [at8001('expiry-time="2099"'), 'no time'],
  [at8001('expiry-time="209901011260Z"'), 'no time'],
  [at8001('expiry-time="20200101Z"'), 'expired'],
  [at8001('expiry-time="20990101Z",expiry-time="20200101Z"'), 'expired'],
  // DST begins then in Berlin.
  [at8001('expiry-time="209903290230"'), 'does not exist'],
  // What a credential cannot say
  [at8001('command="/bin/true"'), 'no credential can say'],
  [at8001('command="echo \\"permitlisten=\\""'), 'command cannot be read'],
  [at8001('cert-authority'), 'no credential can say'],
  [at8001('cert-authority,principals="ada"'), 'no credential can say'],
  [at8001('environment="A=1"'), 'no credential can say'],
  [at8001('tunnel="0"'), 'no credential can say'],
  [at8001('verify-required'), 'no credential can say'],
  [at8001('no-touch-required'), 'no credential can say'],
  [at8001('permitopen="db"'), 'permitopen= is'],
  [at8001('permitopen="db:0"'), 'permitopen= is'],
  [at8001('permitopen="db:5432\u0000"'), 'permitopen= is'],
  [at8001('PERMITOPEN'), 'incomplete'],
  [at8001('no-permitlisten="1"'), 'unknown'],
  [at8001('new-restriction'), 'unknown'],
  [at8001('no-restrict'), 'unknown'],
  [at8001('restrict="yes"'), 'unknown'],
  [at8001('@revoked'), 'cannot be read'],
  [at8001('permitlisten="8001'), 'cannot be read'],
  [`permitlisten="8001",, ${KEY}`, 'cannot be read'],
  [`permitlisten="8001", ${KEY}`, 'cannot be read'],
  // Keys
  [`permitlisten="8001" ${KEY.slice(0, -1)}`, 'base64'],
  [`permitlisten="8001" ssh-rsa ${BLOB}`, 'but its base64 holds'],
  [`permitlisten="8001" ${KEY} -----BEGIN OPENSSH PRIVATE KEY-----`, 'private key'],
  [`permitlisten="8001" ${KEY} tab\u0007`, 'control character'],
  [`permitlisten="8001" ssh-ed25519-cert-v01@openssh.com ${BLOB}`, 'certificate'],
  [`permitlisten="8001" ssh-ed25519\u00a0${BLOB}`, 'no key'],
  // sshd skips blanks and tabs alone, so these are no keys for it.
  [`permitlisten="8001" \u00a0${KEY}`, 'no key'],
  [`permitlisten="8001" ${KEY}\u00a0`, 'no key'],
  [`permitlisten="8001" \f${KEY}`, 'no key'],
  [`\ufeff${KEY}`, 'cannot be read'],
  [`\u00a0${KEY}`, 'cannot be read'],
];

describe('a line of authorized_keys', () => {
  it.each(HOSTILE)('%s is left', (line, reason) => {
    const reading = () => read(line, LAX);
    expect(reading).toThrow(Left);
    expect(reading).toThrow(reason);
  });

  it.each([
    '',
    'restrict,port-forwarding ',
    'permitopen="db:5432" ',
    'permitlisten="*:*" ',
    'permitlisten="8001",permitlisten="*" ',
  ])('that permits everything (%j) is left unless one says so', (options) => {
    expect(() => read(options + KEY)).toThrow('--allow-everything');
    expect(read(options + KEY, LAX).public_key).toBe(KEY);
  });

  it('without permitlisten has no rules', () => {
    expect(read(KEY, LAX)).toEqual({ public_key: KEY, acl: [], description: '' });
  });

  it('keeps comment, networks and the earliest expiry', () => {
    const options =
      'from="10.0.0.0/8,2001:db8::/32",expiry-time="20990101Z",EXPIRY-TIME="20980101120000UTC",no-pty,permitlisten="8001"';
    expect(read(`${options}   ${KEY} ada's  laptop`)).toEqual({
      public_key: KEY,
      acl: ['bind:*:8001'],
      description: "ada's  laptop",
      source_cidrs: ['10.0.0.0/8', '2001:db8::/32'],
      expires_at: '2098-01-01T12:00:00.000Z',
    });
  });

  it('keeps a comment with any line separator, and a blank or tab before the key', () => {
    expect(read(`permitlisten="8001"\t \t${KEY} \u2028ada`)).toMatchObject({
      public_key: KEY,
      description: '\u2028ada',
    });
  });

  it('that is a line of a private key is not repeated in the reason', () => {
    const line = 'b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gt ';
    for (const blank of ['', ' ', ',x']) expect(() => read(line.trim() + blank)).toThrow('cannot be read');
  });

  it('with a time without Z is left, or has the zone that is given: the earlier hour where a clock is set back', () => {
    const line = (time: string) => at8001(`restrict,port-forwarding,expiry-time="${time}"`);
    expect(() => read(line('209907011200'))).toThrow('--timezone');
    expect(read(line('209907011200'), LAX).expires_at).toBe('2099-07-01T10:00:00.000Z');
    expect(read(line('209910250230'), LAX).expires_at).toBe('2099-10-25T00:30:00.000Z');
  });

  it.each([
    '8001',
    '*:8001',
    'localhost:8001',
    'app.example.com:*',
    '*.example.com:443',
    '127.0.0.1:*',
    '[2001:db8::1]:80',
  ])('with permitlisten %s gives a credential of which sshd would get the same', (listen) => {
    const { acl } = read(listening(listen));
    const credential = {
      id: 'sshcr_1',
      version: 1,
      keyType: 'ssh-ed25519',
      keyBlob: BLOB,
      sources: null,
      expiresAt: null,
    };
    const line = authorizedKeys([{ ...credential, acl }], ALL_FREE);
    expect(line).toContain(`permitlisten="${listen.includes(':') ? listen : `*:${listen}`}" `);
  });
});
