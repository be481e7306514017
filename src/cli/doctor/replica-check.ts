import type { Config } from '../../config.js';
import { parseReplicaUrl } from '../../database/database-url.js';
import { differenceOf, OF_SERVER, type ServerAnswer } from '../../database/replica/log-identity.js';
import { type Finding, ok, warning } from './finding.js';
import { connect, type Primary, rowOf } from './server-check.js';

const SETTING = 'REPLICA_DATABASE_URL';
const INSTEAD = 'until then the primary answers its reads';

/** Whether the standbys have the log of the primary. None of it stops the service, so nothing here is wrong. */
export async function checkReplica(
  { client }: Primary,
  { replicaDatabaseUrl, replicaPoolSize }: Config,
): Promise<readonly Finding[]> {
  if (replicaDatabaseUrl === undefined) return [];
  const { log_identity } = await whoseLog(client);
  const hosts = parseReplicaUrl(replicaDatabaseUrl);
  const findings = await Promise.all(hosts.map((host) => checkHost(host, log_identity, hosts.length)));
  const size = ok(`an instance opens up to ${replicaPoolSize} connections to ${SETTING}`);
  return findings.some(({ level }) => level === 'ok') ? [...findings, size] : findings;
}

type Host = ReturnType<typeof parseReplicaUrl>[number];

async function checkHost(host: Host, expected: string, hosts: number): Promise<Finding> {
  const standby = await connect(host, SETTING, { isReplica: true });
  if (typeof standby === 'string') {
    if (hosts > 1 && /is no standby/.test(standby)) return ok(`${host.name} is the primary now`);
    return warning(`${host.name} cannot be used: ${standby}; ${INSTEAD}`);
  }
  try {
    const difference = differenceOf((await whoseLog(standby)).log_identity, expected);
    if (difference === undefined) return ok(`${host.name} is a standby of the primary's log`);
    const wayOut = difference === 'timeline' ? 'run CHECKPOINT on it if it follows the primary' : `correct ${SETTING}`;
    return warning(`${host.name} has another ${difference} than the primary: ${wayOut}; ${INSTEAD}`);
  } finally {
    await standby.end();
  }
}

const whoseLog = (client: Primary['client']): Promise<ServerAnswer> => rowOf(client, `select ${OF_SERVER}`);
