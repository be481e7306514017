import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readConfig } from '../src/api/config/config.js';
import { parsePublicKey } from '../src/rules/public-keys/public-key.js';
import { newPublicKey } from './support/keys.js';
import { type Service, startCopy, startService } from './support/service.js';

const rsaPem = (bits: number): string => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  return publicKey.export({ type: 'spki', format: 'pem' }).toString();
};

/** One RSA key in the forms that users have: SPKI PEM, PKCS#1 PEM, OpenSSH line, RFC 4716. */
function formsOf(pem: string): string[] {
  const { type, blob } = parsePublicKey(pem);
  const base64 = blob.toString('base64');
  const line = `${type} ${base64}`;
  const wrapped = base64.match(/.{1,70}/g)?.join('\n');
  return [
    pem,
    createPublicKey(pem).export({ type: 'pkcs1', format: 'pem' }).toString(),
    `  ${line} me@laptop\r\n`,
    `---- BEGIN SSH2 PUBLIC KEY ----\nComment: "a \\\ncontinued comment"\n${wrapped}\n---- END SSH2 PUBLIC KEY ----\n`,
  ];
}

describe('an uploaded public key', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.stop());

  it('is returned byte for byte in every form; equal keys have one fingerprint', async () => {
    for (const text of formsOf(rsaPem(2048))) {
      const { status, body } = await service.admin.post('/ssh_credentials', { public_key: text });
      expect([status, body.public_key]).toEqual([201, text]);
    }
    const { rows } = await service.pool.query(
      'select count(distinct fingerprint)::int as keys, count(*)::int as all from ssh_credentials',
    );
    expect(rows).toEqual([{ keys: 1, all: 4 }]);
  });

  it('of type RSA has at least MIN_RSA_BITS', async () => {
    const post = async (bits: number, minRsaBits: number) => {
      const other = await startCopy(service, { minRsaBits });
      const answer = await other.admin.post('/ssh_credentials', { public_key: rsaPem(bits) });
      await other.stop();
      return answer;
    };
    expect(await post(1024, 2048)).toMatchObject({
      status: 400,
      body: { error_code: 'ERR_NGROK_612', msg: expect.stringMatching(/1024.*2048/) },
    });
    expect((await post(1024, 1024)).status).toBe(201);
    expect(await post(2048, 3072)).toMatchObject({ status: 400, body: { msg: expect.stringMatching(/2048.*3072/) } });
    expect(() => readConfig({ MIN_RSA_BITS: '1023' })).toThrow('must be a whole number from 1024 to 16384');
  });

  it('on the deny list is refused with a message of its own', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tas-denied-'));
    const [denied, allowed] = [newPublicKey(), newPublicKey()];
    const file = join(folder, 'denied');
    await writeFile(file, `# leaked in the great leak\n\n${parsePublicKey(denied).fingerprint}\n`);
    const { deniedFingerprints } = readConfig({ DENIED_KEYS_FILE: file });
    const other = await startCopy(service, { deniedFingerprints });
    expect(await other.admin.post('/ssh_credentials', { public_key: denied })).toMatchObject({
      status: 400,
      body: { error_code: 'ERR_NGROK_612', msg: expect.stringMatching(/never accepts/) },
    });
    expect((await other.admin.post('/ssh_credentials', { public_key: allowed })).status).toBe(201);
    await other.stop();

    await writeFile(file, 'not a fingerprint\n');
    expect(() => readConfig({ DENIED_KEYS_FILE: file })).toThrow(/DENIED_KEYS_FILE .* line 1/);
    expect(() => readConfig({ DENIED_KEYS_FILE: join(folder, 'absent') })).toThrow(/DENIED_KEYS_FILE .*ENOENT/);
    await rm(folder, { recursive: true });
  });
});
