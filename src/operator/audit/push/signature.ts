import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { messageOf } from '../../../kernel/error-message.js';
import { UsageError } from '../../../kernel/operator-error.js';

/**
 * The headers of Standard Webhooks 1.0 (standardwebhooks.com), which has libraries in many languages that check them.
 */

const PREFIX = 'whsec_';
/** The lengths of a secret that the specification allows. */
const [MIN_BYTES, MAX_BYTES] = [24, 64];
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * Signs with each secret, so that a receiver can change from one secret to another. Without secrets nothing is signed.
 */
export function webhookHeaders(id: string, body: string, secrets: readonly Buffer[], now = Date.now()) {
  const timestamp = String(Math.floor(now / 1000));
  const named = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secrets.length === 0) return named;
  const sign = (secret: Buffer) => createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { ...named, 'webhook-signature': secrets.map((secret) => `v1,${sign(secret)}`).join(' ') };
}

/** Reads the secrets of a file, one on each line. No message quotes a secret. */
export async function readSecrets(file: string): Promise<readonly Buffer[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UsageError(`the file of the secret cannot be read: ${messageOf(error)}`);
  });
  const lines = text.split('\n').map((line) => line.trim());
  const secrets = lines.filter((line) => line !== '').map((line) => parseSecret(file, line));
  if (secrets.length === 0) throw unusable(file);
  return secrets;
}

function parseSecret(file: string, line: string): Buffer {
  const encoded = line.startsWith(PREFIX) ? line.slice(PREFIX.length) : '';
  const secret = Buffer.from(encoded, 'base64');
  if (BASE64.test(encoded) && secret.length >= MIN_BYTES && secret.length <= MAX_BYTES) return secret;
  throw unusable(file);
}

const unusable = (file: string): UsageError =>
  new UsageError(
    `${file} must hold ${PREFIX} and ${MIN_BYTES} to ${MAX_BYTES} random bytes in base64 on each line; make one with: ` +
      `echo "${PREFIX}$(openssl rand -base64 32)"`,
  );
