/** What Patroni and etcd say about themselves over HTTP. */

export const ETCDS = ['etcd1', 'etcd2', 'etcd3'];
export const DATABASES = ['db1', 'db2', 'db3'];

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly timeline?: number;
}

const ANSWER_PATIENCE_MS = 1000;

/** The database that holds the lease. */
export const findPrimary = (): Promise<string> => findMember('leader');

/** The standby that confirms commits. */
export const findSynchronousStandby = (): Promise<string> => findMember('sync_standby');

/** Says whether every database runs: a primary, its synchronous standby, and another standby that has followed it. */
export async function isHealthy(): Promise<boolean> {
  const members = await findMembers();
  const roles = members.filter(({ state }) => state === 'running' || state === 'streaming').map(({ role }) => role);
  const timelines = new Set(members.map(({ timeline }) => timeline));
  return roles.toSorted().join() === 'leader,replica,sync_standby' && timelines.size === 1;
}

export async function findEtcdLeader(): Promise<string> {
  for (const name of ETCDS) {
    const answer = await fetchOrUndefined(`http://${name}:2379/v3/maintenance/status`, { method: 'POST', body: '{}' });
    const status = (await answer?.json()) as { header: { member_id: string }; leader: string } | undefined;
    if (status !== undefined && status.leader === status.header.member_id) return name;
  }
  throw new Error('etcd has no leader');
}

async function findMember(wanted: string): Promise<string> {
  const member = (await findMembers()).find(({ role, state }) => role === wanted && state === 'running');
  if (member === undefined) throw new Error(`Patroni has no ${wanted}`);
  return member.name;
}

/** All databases, as the first one says that is not cut off. */
async function findMembers(): Promise<readonly Member[]> {
  for (const name of DATABASES) {
    const answer = await fetchOrUndefined(`http://${name}:8008/cluster`);
    if (answer?.ok) return ((await answer.json()) as { members: Member[] }).members;
  }
  return [];
}

async function fetchOrUndefined(url: string, options: RequestInit = {}): Promise<Response | undefined> {
  try {
    return await fetch(url, { ...options, signal: AbortSignal.timeout(ANSWER_PATIENCE_MS) });
  } catch {
    return undefined;
  }
}
