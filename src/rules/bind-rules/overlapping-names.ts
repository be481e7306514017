import { splitPort } from '../host-name.js';

/** Stands for a name without a port. */
const EVERY_PORT = '';

/**
 * Names of addresses and domains in canonical form, such as `a.test:443`, `a.test` and `*.test`. A domain overlaps each
 * address at its host, and a wildcard each name under it.
 */
export class OverlappingNames {
  private readonly portsAt = new Map<string, Set<string>>();
  /** By a host, without `*.`: the ports of all names under it. */
  private readonly portsUnder = new Map<string, Set<string>>();

  constructor(names: readonly string[]) {
    for (const name of names) {
      const { host, port = EVERY_PORT } = splitPort(name);
      add(this.portsAt, host, port);
      for (const parent of parentsOf(host)) add(this.portsUnder, parent, port);
    }
  }

  /** Whether one of the names overlaps this one. */
  overlap(name: string): boolean {
    const { host, port = EVERY_PORT } = splitPort(name);
    const covering = [host, ...parentsOf(host).map((parent) => `*.${parent}`)].map((one) => this.portsAt.get(one));
    const covered = host.startsWith('*.') ? this.portsUnder.get(host.slice(2)) : undefined;
    return [...covering, covered].some((ports) => ports !== undefined && (port === EVERY_PORT || has(ports, port)));
  }

  /** Whether one of the names has this port, or every port. */
  havePort(port: number): boolean {
    return [...this.portsAt.values()].some((ports) => has(ports, String(port)));
  }
}

const has = (ports: ReadonlySet<string>, port: string): boolean => ports.has(EVERY_PORT) || ports.has(port);

/** What follows each dot of a host. */
const parentsOf = (host: string): readonly string[] =>
  [...host.matchAll(/\./g)].map(({ index }) => host.slice(index + 1));

function add(to: Map<string, Set<string>>, host: string, port: string): void {
  const ports = to.get(host) ?? new Set();
  to.set(host, ports.add(port));
}
