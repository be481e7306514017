import type { CallerResource } from '../../api/caller/caller.resource.js';
import { boundBy, sshLine, unknownIn } from '../../api/caller/ssh-line.js';
import { fingerprintOfLine } from '../../kernel/fingerprint.js';
import type { ServiceApi } from '../http/service-api.js';
import { tell } from '../print.js';

/** What a fresh credential is for. */
interface Fresh {
  readonly acl: readonly string[];
  /** The file of the private key. Undefined: unknown. */
  readonly keyFile: string | undefined;
}

/** Tells the `ssh` line for a credential, and how to know the gateway. What is not known is said. */
export async function tellSshLine(api: ServiceApi, { acl, keyFile }: Fresh): Promise<void> {
  const { gateways } = await api.read<CallerResource>('caller');
  for (const { address, host_keys } of gateways.filter((gateway) => gateway.address !== null)) {
    tell(`next: ${sshLine(address, { target: boundBy(acl), keyFile })}`);
    for (const key of host_keys.slice(0, 1)) tell(`      its host key is ${fingerprintOfLine(key)}`);
  }
  const unknown = unknownIn(gateways);
  if (unknown !== null) tell(unknown);
}
