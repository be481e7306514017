import { isIPv6 } from 'node:net';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/;

/** Port 0 lets the system choose. Throws an Error whose message completes the sentence "NAME ...". */
export const listenAddress =
  (minPort: 0 | 1) =>
  (text: string): ListenAddress => {
    const [, ipv6, name, digits] = ADDRESS.exec(text) ?? [];
    const [host, port] = [ipv6 ?? name, Number(digits)];
    if (host === undefined || port < minPort || port > 65_535 || (ipv6 !== undefined && !isIPv6(ipv6))) {
      throw new Error(`must be an address and a port from ${minPort} to 65535, IPv6 in brackets`);
    }
    return { host, port };
  };
