import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadHostKey } from './host-key.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tas-host-key-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the host key', () => {
  it('is made whole at the first start, for its owner alone, and read by all later ones', () => {
    const file = join(folder, 'new', 'host_key');
    const { fingerprint } = loadHostKey(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(folder, 'new'))).toEqual(['host_key']);
    expect(loadHostKey(file).fingerprint).toBe(fingerprint);
  });

  it('that a start left half-written beside it is never used, and the next start makes a whole one', () => {
    const file = join(folder, 'host_key');
    writeFileSync(`${file}.${process.pid}.new`, '-----BEGIN OPENSSH PRIV', { mode: 0o600 });
    loadHostKey(file);
    expect(readFileSync(file, 'utf8')).toContain('END OPENSSH PRIVATE KEY');
    expect(readdirSync(folder)).toEqual(['host_key']);
  });

  it('in an empty file is refused with the way out', () => {
    const file = join(folder, 'host_key');
    writeFileSync(file, '', { mode: 0o600 });
    expect(() => loadHostKey(file)).toThrow('is empty; remove it, and the next start makes a key');
  });
});
