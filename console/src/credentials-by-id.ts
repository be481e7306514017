import { useEffect, useState } from 'preact/hooks';
import type { SshCredentialResource } from '../../src/api/ssh-credentials/ssh-credentials.resource.js';
import { call } from './api.js';

/** A session names its credential by id only. Each is read once; browsers send six at a time. */
const known = new Map<string, SshCredentialResource | undefined>();

export const forgetCredentials = (): void => known.clear();

export function useCredentials(ids: readonly string[]): ReadonlyMap<string, SshCredentialResource | undefined> {
  const [, redraw] = useState(0);
  const wanted = [...new Set(ids)].sort().join();
  useEffect(() => {
    const missing = wanted.split(',').filter((id) => id !== '' && !known.has(id));
    for (const id of missing) known.set(id, undefined);
    const reads = missing.map((id) =>
      call<SshCredentialResource>('GET', `/ssh_credentials/${encodeURIComponent(id)}`).then(
        (credential) => known.set(id, credential),
        () => known.delete(id),
      ),
    );
    if (reads.length > 0) void Promise.all(reads).then(() => redraw((times) => times + 1));
  }, [wanted]);
  return known;
}
