import { EventLog1796256000001 } from './0001-event-log.js';
import { Accounts1796256000002 } from './0002-accounts.js';
import { SshCredentials1796256000003 } from './0003-ssh-credentials.js';
import { TcpEdges1796256000004 } from './0004-tcp-edges.js';
import { IpPolicies1796256000005 } from './0005-ip-policies.js';
import { TunnelGroups1796256000006 } from './0006-tunnel-groups.js';
import { Claims1796256000007 } from './0007-claims.js';
import { BindDecisions1796256000008 } from './0008-bind-decisions.js';
import { Transparency1796256000009 } from './0009-transparency.js';
import { TunnelSessions1796256000010 } from './0010-tunnel-sessions.js';
import { TunnelRecords1796256000011 } from './0011-tunnel-records.js';
import { Reservations1796256000012 } from './0012-reservations.js';
import { EnrollmentKeys1796256000013 } from './0013-enrollment-keys.js';

/** Every migration, oldest first. A list rather than a glob, so that only compiled and reviewed migrations run. */
export const MIGRATIONS = [
  EventLog1796256000001,
  Accounts1796256000002,
  SshCredentials1796256000003,
  TcpEdges1796256000004,
  IpPolicies1796256000005,
  TunnelGroups1796256000006,
  Claims1796256000007,
  BindDecisions1796256000008,
  Transparency1796256000009,
  TunnelSessions1796256000010,
  TunnelRecords1796256000011,
  Reservations1796256000012,
  EnrollmentKeys1796256000013,
];
