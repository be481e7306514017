import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import ssh2 from 'ssh2';
import { loadHostKeys, newPrivateKey } from './host-key.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tas-host-key-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const warnings: string[] = [];
const loadHostKey = (file: string) => loadHostKeys(file, (message) => warnings.push(message))[0];

describe('the ECDSA key beside an Ed25519 key', () => {
  const typesOf = (file: string) => loadHostKeys(file, (message) => warnings.push(message)).map(({ key }) => key.type);

  it('is made too, for its owner alone, and stays', () => {
    const file = join(folder, 'host_key');
    expect(typesOf(file)).toEqual(['ssh-ed25519', 'ecdsa-sha2-nistp256']);
    const made = readFileSync(`${file}_ecdsa`, 'utf8');
    expect(statSync(`${file}_ecdsa`).mode & 0o777).toBe(0o600);
    expect(typesOf(file)).toEqual(['ssh-ed25519', 'ecdsa-sha2-nistp256']);
    expect(readFileSync(`${file}_ecdsa`, 'utf8')).toBe(made);
  });

  it('of an operator who gives an ECDSA key alone is not made', () => {
    const file = join(folder, 'host_key');
    writeFileSync(file, ssh2.utils.generateKeyPairSync('ecdsa', { bits: 384 }).private, { mode: 0o600 });
    expect(typesOf(file)).toEqual(['ecdsa-sha2-nistp384']);
    expect(readdirSync(folder)).toEqual(['host_key']);
  });

  it('that cannot be read is no reason not to start, and the log says what to do', () => {
    const file = join(folder, 'host_key');
    loadHostKey(file);
    writeFileSync(`${file}_ecdsa`, 'no key');
    warnings.length = 0;
    expect(typesOf(file)).toEqual(['ssh-ed25519']);
    expect(warnings).toEqual([
      expect.stringMatching(/^clients without Ed25519 are not served: .*host_key_ecdsa' holds/),
    ]);
  });
});

it('a new key can be read, each time: one of 256 of the library cannot', () => {
  const keys = Array.from({ length: 2_000 }, () => ssh2.utils.parseKey(newPrivateKey('ed25519')));
  expect(keys.filter((key) => key instanceof Error)).toEqual([]);
});

it.each(['ed25519', 'ecdsa 256', 'ecdsa 384', 'ecdsa 521'])('a key of %s signs as the library does', (kind) => {
  const [type, bits] = kind.split(' ');
  const file = join(folder, 'host_key');
  execFileSync('ssh-keygen', ['-q', '-N', '', '-t', String(type), ...(bits ? ['-b', bits] : []), '-f', file]);
  const signature = loadHostKey(file).key.sign(Buffer.from('an exchange'));
  const publicKey = ssh2.utils.parseKey(readFileSync(`${file}.pub`, 'utf8')) as ssh2.ParsedKey;
  expect(publicKey.verify(Buffer.from('an exchange'), signature)).toBe(true);
  expect(publicKey.verify(Buffer.from('another one'), signature)).toBe(false);
});

describe('the host key', () => {
  it('is made whole at the first start, for its owner alone, and read by all later ones', () => {
    const file = join(folder, 'new', 'host_key');
    const { fingerprint } = loadHostKey(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(folder, 'new')).sort()).toEqual(['host_key', 'host_key_ecdsa']);
    expect(loadHostKey(file).fingerprint).toBe(fingerprint);
  });

  it('that a start left half-written beside it is never used, and the next start makes a whole one', () => {
    const file = join(folder, 'host_key');
    writeFileSync(`${file}.${process.pid}.new`, '-----BEGIN OPENSSH PRIV', { mode: 0o600 });
    loadHostKey(file);
    expect(readFileSync(file, 'utf8')).toContain('END OPENSSH PRIVATE KEY');
    expect(readdirSync(folder).sort()).toEqual(['host_key', 'host_key_ecdsa']);
  });

  it('in an empty file is refused with the way out', () => {
    const file = join(folder, 'host_key');
    writeFileSync(file, '', { mode: 0o600 });
    expect(() => loadHostKey(file)).toThrow('is empty; remove it, and the next start makes a key');
  });

  it('that the group of a volume can read is closed again, as Kubernetes opens it with fsGroup', () => {
    const file = join(folder, 'host_key');
    const { fingerprint } = loadHostKey(file);
    chmodSync(file, 0o660);
    expect(loadHostKey(file).fingerprint).toBe(fingerprint);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('of another user may be for a group of this one, as the Secrets of Kubernetes are', () => {
    const file = join(folder, 'host_key');
    loadHostKey(file);
    chmodSync(file, 0o440);
    // Only root can give files away; the file of anybody else is closed.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(file, 65_534, 0);
    loadHostKey(file);
    expect(statSync(file).mode & 0o777).toBe(isRoot ? 0o440 : 0o600);
  });

  it('of RSA is refused with the way out, and so is what holds no key', () => {
    const file = join(folder, 'host_key');
    writeFileSync(file, ssh2.utils.generateKeyPairSync('rsa', { bits: 2_048 }).private, { mode: 0o600 });
    expect(() => loadHostKey(file)).toThrow(
      'is a key of type ssh-rsa, which cannot be used; make another one: ssh-keygen -t ed25519',
    );
    writeFileSync(file, 'no key');
    expect(() => loadHostKey(file)).toThrow('holds no private key that can be read without a passphrase');
    expect(() => loadHostKey(join(file, 'key'))).toThrow("GATEWAY_HOST_KEY '");
  });

  it('that others can read is refused, with the way out', () => {
    const file = join(folder, 'host_key');
    loadHostKey(file);
    chmodSync(file, 0o604);
    expect(() => loadHostKey(file)).toThrow(`others can read it; run: chmod 600 ${file}`);
  });
});
