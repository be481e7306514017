import { EventLog1795910400001 } from './0001-event-log.js';
import { Accounts1795910400002 } from './0002-accounts.js';
import { SshCredentials1795910400003 } from './0003-ssh-credentials.js';
import { TcpEdges1795910400004 } from './0004-tcp-edges.js';
import { IpPolicies1795910400005 } from './0005-ip-policies.js';
import { TunnelGroups1795910400006 } from './0006-tunnel-groups.js';
import { Claims1795910400007 } from './0007-claims.js';
import { BindDecisions1795910400008 } from './0008-bind-decisions.js';
import { Transparency1795910400009 } from './0009-transparency.js';
import { TunnelSessions1795910400010 } from './0010-tunnel-sessions.js';
import { TunnelRecords1795910400011 } from './0011-tunnel-records.js';
import { Reservations1795910400012 } from './0012-reservations.js';

/** Every migration, oldest first. A list rather than a glob, so that only compiled and reviewed migrations run. */
export const MIGRATIONS = [
  EventLog1795910400001,
  Accounts1795910400002,
  SshCredentials1795910400003,
  TcpEdges1795910400004,
  IpPolicies1795910400005,
  TunnelGroups1795910400006,
  Claims1795910400007,
  BindDecisions1795910400008,
  Transparency1795910400009,
  TunnelSessions1795910400010,
  TunnelRecords1795910400011,
  Reservations1795910400012,
];
