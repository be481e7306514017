import { EventLog1796342400001 } from './0001-event-log.js';
import { Accounts1796342400002 } from './0002-accounts.js';
import { SshCredentials1796342400003 } from './0003-ssh-credentials.js';
import { TcpEdges1796342400004 } from './0004-tcp-edges.js';
import { IpPolicies1796342400005 } from './0005-ip-policies.js';
import { TunnelGroups1796342400006 } from './0006-tunnel-groups.js';
import { Claims1796342400007 } from './0007-claims.js';
import { BindDecisions1796342400008 } from './0008-bind-decisions.js';
import { Transparency1796342400009 } from './0009-transparency.js';
import { TunnelSessions1796342400010 } from './0010-tunnel-sessions.js';
import { TunnelRecords1796342400011 } from './0011-tunnel-records.js';
import { Reservations1796342400012 } from './0012-reservations.js';

/** Every migration, oldest first. A list rather than a glob, so that only compiled and reviewed migrations run. */
export const MIGRATIONS = [
  EventLog1796342400001,
  Accounts1796342400002,
  SshCredentials1796342400003,
  TcpEdges1796342400004,
  IpPolicies1796342400005,
  TunnelGroups1796342400006,
  Claims1796342400007,
  BindDecisions1796342400008,
  Transparency1796342400009,
  TunnelSessions1796342400010,
  TunnelRecords1796342400011,
  Reservations1796342400012,
];
