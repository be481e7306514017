import { EventLog1795824000001 } from './0001-event-log.js';
import { Accounts1795824000002 } from './0002-accounts.js';
import { SshCredentials1795824000003 } from './0003-ssh-credentials.js';
import { TcpEdges1795824000004 } from './0004-tcp-edges.js';
import { IpPolicies1795824000005 } from './0005-ip-policies.js';
import { TunnelGroups1795824000006 } from './0006-tunnel-groups.js';
import { Claims1795824000007 } from './0007-claims.js';
import { BindDecisions1795824000008 } from './0008-bind-decisions.js';
import { Transparency1795824000009 } from './0009-transparency.js';
import { TunnelSessions1795824000010 } from './0010-tunnel-sessions.js';
import { TunnelRecords1795824000011 } from './0011-tunnel-records.js';
import { Reservations1795824000012 } from './0012-reservations.js';

/** Every migration, oldest first. A list rather than a glob, so that only compiled and reviewed migrations run. */
export const MIGRATIONS = [
  EventLog1795824000001,
  Accounts1795824000002,
  SshCredentials1795824000003,
  TcpEdges1795824000004,
  IpPolicies1795824000005,
  TunnelGroups1795824000006,
  Claims1795824000007,
  BindDecisions1795824000008,
  Transparency1795824000009,
  TunnelSessions1795824000010,
  TunnelRecords1795824000011,
  Reservations1795824000012,
];
