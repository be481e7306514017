import type { CallerResource } from '../../api/caller/caller.resource.js';
import { fingerprintOfLine } from '../../kernel/fingerprint.js';
import type { ServiceApi } from '../http/service-api.js';
import { tell } from '../print.js';
import { boundBy } from './target-text.js';

/** What a fresh credential is for. */
interface Fresh {
  readonly acl: readonly string[];
  /** The file of the private key. Undefined: unknown. */
  readonly keyFile: string | undefined;
}

/** Tells the `ssh` line for a credential, and how to know the gateway. What is not known is said. */
export async function tellSshLine(api: ServiceApi, { acl, keyFile }: Fresh): Promise<void> {
  const { gateways } = await api.read<CallerResource>('caller');
  const known = gateways.filter(({ address }) => address !== null);
  for (const { address, host_keys } of known) {
    tell(`next: ${sshLine(address, { acl, keyFile })}`);
    for (const key of host_keys.slice(0, 1)) tell(`      its host key is ${fingerprintOfLine(key)}`);
  }
  if (known.length > 0) return;
  tell(
    gateways.length === 0
      ? 'no gateway reports now, so the address for ssh is not known here: ask who runs it'
      : 'the gateway does not say its address: set its GATEWAY_PUBLIC_ADDRESS, or ask who runs it',
  );
}

/** The `ssh` line of a credential at a gateway. `local`: what the tunnel leads to. */
export function sshLine(address: string | null, { acl, keyFile }: Fresh, local = 'localhost:3000'): string {
  const identity = keyFile === undefined ? '' : `-i ${keyFile} `;
  const [, host = 'GATEWAY', port = 'PORT'] = /^\[?(.+?)\]?:(\d+)$/.exec(address ?? '') ?? [];
  return `ssh -N ${identity}-p ${port} -R ${boundBy(acl)}:${local} ${host}`;
}
