import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stopAtEnd } from './leftovers.js';

/** A CA, a certificate that it signed for the names of a server, and one that it signed for the role of a client. */
export interface TlsFiles {
  readonly ca: string;
  readonly server: { readonly cert: string; readonly key: string };
  readonly client: { readonly cert: string; readonly key: string };
}

/** `names`: in the form of openssl, for example DNS:localhost. `owner`: the user who may read the server's key. */
export function makeTlsFiles(names: string, role: string, owner: { uid?: number; gid?: number }): TlsFiles {
  const folder = mkdtempSync(join(tmpdir(), 'tas-tls-'));
  stopAtEnd(async () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', '-x509', ...newKey, '-subj', '/CN=CA of the test', '-keyout', file('ca.key'), '-out', file('ca.crt'));
  const sign = (name: string, subject: string, extension: string) => {
    const [cert, key] = [file(`${name}.crt`), file(`${name}.key`)];
    openssl('req', ...newKey, '-subj', subject, '-keyout', key, '-out', file(`${name}.csr`));
    writeFileSync(file(`${name}.ext`), extension);
    const authority = ['-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-CAcreateserial'];
    openssl('x509', '-req', '-in', file(`${name}.csr`), ...authority, '-extfile', file(`${name}.ext`), '-out', cert);
    chmodSync(key, 0o600);
    return { cert, key };
  };
  const server = sign('server', '/CN=server', `subjectAltName=${names}`);
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(server.key, owner.uid, owner.gid);
  return { ca: file('ca.crt'), server, client: sign('client', `/CN=${role}`, 'extendedKeyUsage=clientAuth') };
}
