import type { Cluster } from './cluster.js';
import type { Machine } from './machines.js';

export interface Fault {
  readonly name: string;
  /** Returns what makes everything whole again. */
  readonly strike: () => Promise<() => Promise<void>>;
}

/** What can happen to the machines. `apart`: the machines that a partition leaves with the primary. */
export const faultsOf = (
  cluster: Cluster,
  island: readonly Machine[],
  proxyIsland: readonly Machine[],
): readonly Fault[] => [
  {
    name: 'switchover',
    strike: async () => {
      await cluster.switchover();
      return async () => undefined;
    },
  },
  {
    name: 'kill of the primary',
    strike: async () => {
      const primary = await cluster.primary();
      await cluster.machine(primary).kill();
      return () => cluster.startDatabase(primary);
    },
  },
  {
    name: 'kill of the leading etcd',
    strike: async () => {
      const leader = await cluster.etcdLeader();
      await cluster.machine(leader).kill();
      return () => cluster.startEtcd(leader);
    },
  },
  {
    name: 'primary cut off with an instance',
    strike: async () => cutOff([cluster.machine(await cluster.primary()), ...island]),
  },
  {
    name: 'primary cut off with haproxy and an instance',
    strike: async () => cutOff([cluster.machine(await cluster.primary()), cluster.machine('haproxy'), ...proxyIsland]),
  },
];

async function cutOff(machines: readonly Machine[]): Promise<() => Promise<void>> {
  for (const machine of machines) await machine.cutOff();
  return async () => {
    for (const machine of machines) await machine.reconnect();
  };
}
