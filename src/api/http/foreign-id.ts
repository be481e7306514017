import type { IdPrefix } from '../../kernel/ids.js';

/** What an id of each kind names, and the path that takes it. */
const KINDS: Readonly<Record<IdPrefix, readonly [noun: string, path?: string]>> = {
  ac: ['an account'],
  ak: ['an API key', '/api_keys'],
  bd: ['a bind decision'],
  bkdtg: ['a tunnel group', '/backends/tunnel_group'],
  bot: ['a bot', '/bot_users'],
  ec: ['a connection through an edge'],
  edgtcp: ['a TCP edge', '/edges/tcp'],
  enk: ['an enrollment key', '/enrollment_keys'],
  gw: ['a gateway'],
  ipp: ['an IP policy', '/ip_policies'],
  ipr: ['a rule of an IP policy', '/ip_policy_rules'],
  op: ['a request'],
  ra: ['a reserved address', '/reserved_addrs'],
  rd: ['a reserved domain', '/reserved_domains'],
  rec: ['an hour of sealed records'],
  sshcr: ['an SSH credential', '/ssh_credentials'],
  tn: ['a tunnel', '/tunnels'],
  tnr: ['the record of a tunnel'],
  ts: ['a tunnel session', '/tunnel_sessions'],
  tsr: ['the record of a tunnel session'],
  usr: ['a user', '/users'],
};

const ID = /^([a-z]+)_[0-9A-Za-z]{27}$/;
/** Bots have two paths. */
const SERVICE_USERS = '/service_users/';

/** A sentence if the id at this path is of another kind than the path takes. Whether it exists is not said. */
export function foreignId(path: string, id: unknown): string | undefined {
  const prefix = ID.exec(String(id))?.[1] ?? '';
  if (!Object.hasOwn(KINDS, prefix)) return undefined;
  const [noun, own] = KINDS[prefix as IdPrefix];
  if (own !== undefined && (path.startsWith(`${own}/`) || (prefix === 'bot' && path.startsWith(SERVICE_USERS)))) {
    return undefined;
  }
  return `'${id}' is the id of ${noun}${own === undefined ? '' : `, which is at ${own}/{id}`}.`;
}
