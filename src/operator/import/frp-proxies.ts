import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallerResource } from '../../api/caller/caller.resource.js';
import { parsePublicKey } from '../../rules/index.js';
import { serviceOf } from '../http/destination.js';
import { sshLine } from '../verbs/next-step.js';
import { readFrpClient, type TcpProxy } from './frp-client.js';
import { Left, orLeft } from './left.js';
import { type ImportOptions, importAll, type Read, type Source } from './report.js';
import { readSources, type SourceFile } from './source-files.js';
import { orReported, owned, type Place, SeenKeys } from './source-lines.js';

export interface FrpOptions extends ImportOptions {
  readonly keys: string;
  readonly host: string;
  readonly edgePorts: Ports;
}

export interface Ports {
  readonly min: number;
  readonly max: number;
  toString(): string;
}

/** Imports the TCP proxies of configurations of frpc. */
export async function importFrp(files: readonly string[], options: FrpOptions): Promise<void> {
  const api = await serviceOf(options);
  const { gateways } = await api.read<CallerResource>('caller');
  const address = gateways.find((one) => one.address !== null)?.address ?? null;
  await importAll(readSources(files).flatMap(frpReader(options, address)), options);
}

function frpReader(options: FrpOptions, address: string | null): (file: SourceFile) => readonly Source[] {
  const keys = new SeenKeys();
  const users = new Map<string, string>();
  const takeOnce = (what: string, name: string): void => {
    const other = users.get(what);
    if (other !== undefined) throw new Left(`the proxy ${other} has ${what} too`);
    users.set(what, name);
  };
  const wantedOf = (proxy: TcpProxy, at: Place, digest: string): Read => {
    const { name, label, local, remotePort } = proxy;
    takeOnce(`the name ${label}`, name);
    takeOnce(`the remotePort ${remotePort}`, name);
    const keyFile = join(options.keys, name);
    const key = publicKeyIn(`${keyFile}.pub`);
    const { fingerprint } = orLeft(() => parsePublicKey(key));
    keys.refuseSecond([fingerprint], at);
    const acl = [`bind:frp=${label}`];
    const credential = owned({ public_key: key, acl, description: `frp ${label}` }, options);
    const { min, max } = options.edgePorts;
    const outside = `; the gateway serves only ${options.edgePorts} (GATEWAY_EDGE_PORTS), so change that`;
    const next = `${sshLine(address, { acl, keyFile }, local)}${remotePort < min || remotePort > max ? outside : ''}`;
    return { ...at, digest, credential, fingerprint, edge: { hostport: `${options.host}:${remotePort}`, label }, next };
  };
  return ({ name: file, text, digest }) =>
    readFrpClient(file, text).map(({ line, proxy }) =>
      orReported({ file, line }, () => {
        if (proxy instanceof Left) throw proxy;
        return wantedOf(proxy, { file, line }, digest);
      }),
    );
}

function publicKeyIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new Left(`there is no key ${file} for it`);
  }
}
