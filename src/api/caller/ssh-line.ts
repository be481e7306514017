import type { CallerGateway } from './caller.resource.js';

interface Tunnel {
  /** What `-R` binds. */
  readonly target: string;
  /** The file of the private key. Undefined: unknown. */
  readonly keyFile?: string | undefined;
}

/** The command that opens a tunnel to `local`. A gateway that does not say its address is GATEWAY and PORT. */
export function sshLine(address: string | null, { target, keyFile }: Tunnel, local = 'localhost:3000'): string {
  const { host, port } = placeOf(address ?? 'GATEWAY:PORT');
  const identity = keyFile === undefined ? '' : `-i ${keyFile} `;
  return `ssh -N ${identity}-p ${port} -R ${target}:${local} ${host}`;
}

/** Its lines of a file `known_hosts`. */
export function knownHosts({ address, host_keys }: CallerGateway): readonly string[] {
  if (address === null) return [];
  const { host, port } = placeOf(address);
  const name = port === '22' ? host : `[${host}]:${port}`;
  return host_keys.map((key) => `${name} ${key}\n`);
}

/** What the gateways do not say, and who knows it. Null if they say it. */
export function unknownIn(gateways: readonly CallerGateway[]): string | null {
  if (gateways.some(({ address }) => address !== null)) return null;
  return gateways.length === 0
    ? 'no gateway reports now, so the address for ssh is not known here: ask who runs it'
    : 'the gateway does not say its address: set its GATEWAY_PUBLIC_ADDRESS, or ask who runs it';
}

function placeOf(address: string): { readonly host: string; readonly port: string } {
  const [, host = '', port = ''] = /^\[?(.+?)\]?:(\w+)$/.exec(address) ?? [];
  return { host, port };
}

/** What `-R` binds: what the first rule permits, or a label. */
export function boundBy(acl: readonly string[]): string {
  const [, rule = 'app=web'] = /^bind:(.+)$/.exec(acl[0] ?? '') ?? [];
  const bound = rule.replaceAll('*', 'x');
  return bound.includes('=') || !bound.includes(':') ? `${bound}:0` : bound;
}
