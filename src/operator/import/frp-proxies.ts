import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallerResource } from '../../api/caller/caller.resource.js';
import { boundBy, sshLine } from '../../api/caller/ssh-line.js';
import { GATEWAY } from '../../gateway/index.js';
import { messageOf } from '../../kernel/error-message.js';
import { UsageError } from '../../kernel/operator-error.js';
import { parsePublicKey } from '../../rules/index.js';
import { serviceOf } from '../http/destination.js';
import { readFrpClient } from './frp-client.js';
import { FirstPlaces, Left, orLeft } from './left.js';
import { type ImportOptions, importAll, type Line, owned } from './report.js';
import { readSources } from './source-lines.js';

export interface FrpOptions extends ImportOptions {
  readonly keys: string;
  readonly host: string;
  readonly edgePorts: string;
}

/** Imports the TCP proxies of configurations of frpc. */
export async function importFrp(files: readonly string[], options: FrpOptions): Promise<void> {
  const { keys, host, edgePorts } = options;
  const served = portsIn(edgePorts);
  const { gateways } = await (await serviceOf(options)).read<CallerResource>('caller');
  const address = gateways.find((one) => one.address !== null)?.address ?? null;
  const first = new FirstPlaces();
  const lines = readSources(files).flatMap(({ file, text, digest }) =>
    readFrpClient(file, text).map((proxy): Line => {
      const at = { file, line: proxy.line };
      const read = () => {
        const { name, label, local, remotePort } = proxy.read();
        first.take('name', [`name ${label}`], at);
        first.take(`remotePort ${remotePort}`, [`port ${remotePort}`], at);
        const keyFile = join(keys, name);
        const public_key = publicKeyIn(`${keyFile}.pub`);
        const { fingerprint } = orLeft(() => parsePublicKey(public_key));
        first.take('key', [fingerprint], at);
        const acl = [`bind:frp=${label}`];
        const isServed = served.some(({ min, max }) => min <= remotePort && remotePort <= max);
        return {
          digest,
          credential: owned({ public_key, acl, description: `frp ${label}` }, options),
          fingerprint,
          edge: { hostport: `${host}:${remotePort}`, label },
          next: `${sshLine(address, { target: boundBy(acl), keyFile }, local)}${isServed ? '' : `; no gateway serves the port ${remotePort}: its GATEWAY_EDGE_PORTS is ${edgePorts}`}`,
        };
      };
      return { ...at, read };
    }),
  );
  await importAll(lines, options);
}

function portsIn(text: string): ReturnType<typeof GATEWAY.edgePorts.parse> {
  try {
    return GATEWAY.edgePorts.parse(text);
  } catch (error) {
    throw new UsageError(`--edge-ports ${messageOf(error)}`);
  }
}

function publicKeyIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new Left(`there is no key ${file} for it`);
  }
}
