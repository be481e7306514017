import { EventLog1796169600001 } from './0001-event-log.js';
import { Accounts1796169600002 } from './0002-accounts.js';
import { SshCredentials1796169600003 } from './0003-ssh-credentials.js';
import { TcpEdges1796169600004 } from './0004-tcp-edges.js';
import { IpPolicies1796169600005 } from './0005-ip-policies.js';
import { TunnelGroups1796169600006 } from './0006-tunnel-groups.js';
import { Claims1796169600007 } from './0007-claims.js';
import { BindDecisions1796169600008 } from './0008-bind-decisions.js';
import { Transparency1796169600009 } from './0009-transparency.js';
import { TunnelSessions1796169600010 } from './0010-tunnel-sessions.js';
import { TunnelRecords1796169600011 } from './0011-tunnel-records.js';
import { Reservations1796169600012 } from './0012-reservations.js';

/** Every migration, oldest first. A list rather than a glob, so that only compiled and reviewed migrations run. */
export const MIGRATIONS = [
  EventLog1796169600001,
  Accounts1796169600002,
  SshCredentials1796169600003,
  TcpEdges1796169600004,
  IpPolicies1796169600005,
  TunnelGroups1796169600006,
  Claims1796169600007,
  BindDecisions1796169600008,
  Transparency1796169600009,
  TunnelSessions1796169600010,
  TunnelRecords1796169600011,
  Reservations1796169600012,
];
