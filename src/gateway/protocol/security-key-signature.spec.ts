import { describe, expect, it } from '@jest/globals';
import { SecurityKey } from '../../../test/support/security-key.js';
import { isSignedBySecurityKey, SECURITY_KEY_TYPES } from './security-key-signature.js';

const MESSAGE = Buffer.from('a request to log in');

describe.each([['sk-ssh-ed25519@openssh.com'], ['sk-ecdsa-sha2-nistp256@openssh.com']] as const)(
  'a signature by %s',
  (type) => {
    const key = new SecurityKey(type);
    /** The signature as the library passes it: without the type, and without the length field after it. */
    const signed = (...circumstances: Parameters<SecurityKey['signParts']>[1][]): Buffer => {
      const { signature, end } = key.signParts(MESSAGE, ...circumstances);
      return Buffer.concat([signature, end]);
    };
    const counts = (signature: Buffer, message = MESSAGE, blob = key.blob): boolean =>
      isSignedBySecurityKey(blob, message, signature);

    it('counts, with any counter and whatever else the token says of the person', () => {
      expect(SECURITY_KEY_TYPES).toContain(type);
      for (const circumstances of [{}, { counter: 0 }, { counter: 0xffffffff }, { flags: 5 }])
        expect(counts(signed(circumstances))).toBe(true);
    });

    it('counts each time: numbers of any size are read', () => {
      for (let n = 0; n < 600; n += 1) expect(counts(signed({ counter: n }))).toBe(true);
    });

    it('does not count without a person, or for another application', () => {
      for (const circumstances of [
        { flags: 0 },
        { flags: 4 },
        { application: 'https://example.com' },
        { application: '' },
      ])
        expect(counts(signed(circumstances))).toBe(false);
    });

    it('does not count for another message or by another key', () => {
      expect(counts(signed(), Buffer.from('a request to log ix'))).toBe(false);
      expect(counts(signed(), MESSAGE, new SecurityKey(type).blob)).toBe(false);
    });

    it('does not count with any bit changed', () => {
      const right = signed();
      for (let bit = 0; bit < right.length * 8; bit += 1) {
        const wrong = Buffer.from(right);
        wrong[bit >> 3] = (right[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect({ bit, counts: counts(wrong) }).toEqual({ bit, counts: false });
      }
    });

    it('does not count if it is cut at any byte, or longer', () => {
      const right = signed();
      for (let n = 0; n < right.length; n += 1) {
        expect(counts(right.subarray(0, n))).toBe(false);
        expect(counts(right.subarray(n + 1))).toBe(false);
      }
      expect(counts(Buffer.concat([right, Buffer.from([0])]))).toBe(false);
      expect(counts(Buffer.concat([Buffer.from([0]), right]))).toBe(false);
    });
  },
);
