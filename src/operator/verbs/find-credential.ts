import { existsSync, readFileSync } from 'node:fs';
import type { SshCredentialResource } from '../../api/ssh-credentials/ssh-credentials.resource.js';
import { fingerprintOfLine } from '../../kernel/fingerprint.js';
import { UsageError } from '../../kernel/operator-error.js';
import { fileArgument } from '../file-argument.js';
import type { ServiceApi } from '../http/service-api.js';

export const KEY_ARGUMENT = [
  '<key>',
  'a credential: its id, its .pub file, the fingerprint SHA256:..., or a description that no other has',
] as const;

const LIST = 'ssh_credentials';
const MAX_LISTED = 10;

/** Throws UsageError if there is none, or lists the ids if there are several. */
export async function findCredential(api: ServiceApi, key: string): Promise<SshCredentialResource> {
  if (/^sshcr_\w+$/.test(key)) return api.read(`${LIST}/${key}`);
  const found = await credentialsOf(api, key);
  const [first] = found;
  if (first === undefined) throw new UsageError(`there is no credential ${key}: tunnel-access keys list shows all`);
  if (found.length === 1) return first;
  const listed = found.slice(0, MAX_LISTED).map(({ id, acl }) => `${id} (${acl.join(' ') || 'everything'})`);
  throw new UsageError(`${found.length} credentials are ${key}; name one: ${listed.join(', ')}`);
}

async function credentialsOf(api: ServiceApi, key: string): Promise<readonly SshCredentialResource[]> {
  const fingerprint = key.startsWith('SHA256:') ? key : fingerprintIn(key);
  const query = fingerprint === undefined ? {} : { fingerprint };
  const found: SshCredentialResource[] = [];
  for await (const one of api.list<SshCredentialResource>(LIST, LIST, query)) {
    if (fingerprint !== undefined || one.description === key) found.push(one);
  }
  return found;
}

/** The fingerprint of a `.pub` file. Undefined if the text names none. */
function fingerprintIn(text: string): string | undefined {
  const file = fileArgument(text);
  if (!text.endsWith('.pub') || !existsSync(file)) return undefined;
  const fingerprint = fingerprintOfLine(readFileSync(file, 'utf8').trim());
  if (fingerprint === undefined) throw new UsageError(`${file} holds no public key in the format of OpenSSH`);
  return fingerprint;
}
