import { EventLog1796083200001 } from './0001-event-log.js';
import { Accounts1796083200002 } from './0002-accounts.js';
import { SshCredentials1796083200003 } from './0003-ssh-credentials.js';
import { TcpEdges1796083200004 } from './0004-tcp-edges.js';
import { IpPolicies1796083200005 } from './0005-ip-policies.js';
import { TunnelGroups1796083200006 } from './0006-tunnel-groups.js';
import { Claims1796083200007 } from './0007-claims.js';
import { BindDecisions1796083200008 } from './0008-bind-decisions.js';
import { Transparency1796083200009 } from './0009-transparency.js';
import { TunnelSessions1796083200010 } from './0010-tunnel-sessions.js';
import { TunnelRecords1796083200011 } from './0011-tunnel-records.js';
import { Reservations1796083200012 } from './0012-reservations.js';

/** Every migration, oldest first. A list rather than a glob, so that only compiled and reviewed migrations run. */
export const MIGRATIONS = [
  EventLog1796083200001,
  Accounts1796083200002,
  SshCredentials1796083200003,
  TcpEdges1796083200004,
  IpPolicies1796083200005,
  TunnelGroups1796083200006,
  Claims1796083200007,
  BindDecisions1796083200008,
  Transparency1796083200009,
  TunnelSessions1796083200010,
  TunnelRecords1796083200011,
  Reservations1796083200012,
];
