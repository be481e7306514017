import { EventLog1795996800001 } from './0001-event-log.js';
import { Accounts1795996800002 } from './0002-accounts.js';
import { SshCredentials1795996800003 } from './0003-ssh-credentials.js';
import { TcpEdges1795996800004 } from './0004-tcp-edges.js';
import { IpPolicies1795996800005 } from './0005-ip-policies.js';
import { TunnelGroups1795996800006 } from './0006-tunnel-groups.js';
import { Claims1795996800007 } from './0007-claims.js';
import { BindDecisions1795996800008 } from './0008-bind-decisions.js';
import { Transparency1795996800009 } from './0009-transparency.js';
import { TunnelSessions1795996800010 } from './0010-tunnel-sessions.js';
import { TunnelRecords1795996800011 } from './0011-tunnel-records.js';
import { Reservations1795996800012 } from './0012-reservations.js';

/** Every migration, oldest first. A list rather than a glob, so that only compiled and reviewed migrations run. */
export const MIGRATIONS = [
  EventLog1795996800001,
  Accounts1795996800002,
  SshCredentials1795996800003,
  TcpEdges1795996800004,
  IpPolicies1795996800005,
  TunnelGroups1795996800006,
  Claims1795996800007,
  BindDecisions1795996800008,
  Transparency1795996800009,
  TunnelSessions1795996800010,
  TunnelRecords1795996800011,
  Reservations1795996800012,
];
