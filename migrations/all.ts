import { EventLog1796428800001 } from './0001-event-log.js';
import { Accounts1796428800002 } from './0002-accounts.js';
import { SshCredentials1796428800003 } from './0003-ssh-credentials.js';
import { TcpEdges1796428800004 } from './0004-tcp-edges.js';
import { IpPolicies1796428800005 } from './0005-ip-policies.js';
import { TunnelGroups1796428800006 } from './0006-tunnel-groups.js';
import { Claims1796428800007 } from './0007-claims.js';
import { BindDecisions1796428800008 } from './0008-bind-decisions.js';
import { Transparency1796428800009 } from './0009-transparency.js';
import { TunnelSessions1796428800010 } from './0010-tunnel-sessions.js';
import { TunnelRecords1796428800011 } from './0011-tunnel-records.js';
import { Reservations1796428800012 } from './0012-reservations.js';
import { EnrollmentKeys1796428800013 } from './0013-enrollment-keys.js';

/** Every migration, oldest first. A list rather than a glob, so that only compiled and reviewed migrations run. */
export const MIGRATIONS = [
  EventLog1796428800001,
  Accounts1796428800002,
  SshCredentials1796428800003,
  TcpEdges1796428800004,
  IpPolicies1796428800005,
  TunnelGroups1796428800006,
  Claims1796428800007,
  BindDecisions1796428800008,
  Transparency1796428800009,
  TunnelSessions1796428800010,
  TunnelRecords1796428800011,
  Reservations1796428800012,
  EnrollmentKeys1796428800013,
];
