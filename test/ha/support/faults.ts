import type { Cluster } from './cluster.js';
import type { Instance } from './instance.js';
import { findEtcdLeader, findPrimary, findSynchronousStandby } from './leaders.js';
import type { Machine } from './machines.js';

export interface Fault {
  readonly name: string;
  /** Returns what repairs the damage. `pooled` reaches its haproxy through PgBouncer. */
  readonly strike: (cluster: Cluster, instances: readonly [proxied: Instance, pooled: Instance]) => Promise<Repair>;
}

type Repair = () => Promise<void>;

export const FAULTS: readonly Fault[] = [
  { name: 'switchover', strike: switchOver },
  { name: 'kill of the primary', strike: async (cluster) => killDatabase(cluster, await findPrimary()) },
  {
    name: 'kill of the synchronous standby',
    strike: async (cluster) => killDatabase(cluster, await findSynchronousStandby()),
  },
  { name: 'kill of the etcd leader', strike: killEtcdLeader },
  {
    name: 'partition: the primary and an instance',
    strike: async (cluster, [proxied]) => cutOff([await primaryOf(cluster), proxied.machine]),
  },
  {
    name: 'partition: the primary and an instance behind PgBouncer',
    strike: async (cluster, [, pooled]) => cutOff([await primaryOf(cluster), pooled.machine]),
  },
];

async function switchOver(cluster: Cluster): Promise<Repair> {
  await cluster.switchover();
  return async () => undefined;
}

async function killDatabase(cluster: Cluster, name: string): Promise<Repair> {
  await cluster.machine(name).kill();
  return () => cluster.startDatabase(name);
}

async function killEtcdLeader(cluster: Cluster): Promise<Repair> {
  const name = await findEtcdLeader();
  await cluster.machine(name).kill();
  return () => cluster.startEtcd(name);
}

/** These machines still reach each other, and no other machine. */
async function cutOff(machines: readonly Machine[]): Promise<Repair> {
  for (const machine of machines) await machine.cutOff();
  return async () => {
    for (const machine of machines) await machine.reconnect();
  };
}

const primaryOf = async (cluster: Cluster): Promise<Machine> => cluster.machine(await findPrimary());
