import { EventLog1795737600001 } from './0001-event-log.js';
import { Accounts1795737600002 } from './0002-accounts.js';
import { SshCredentials1795737600003 } from './0003-ssh-credentials.js';
import { TcpEdges1795737600004 } from './0004-tcp-edges.js';
import { IpPolicies1795737600005 } from './0005-ip-policies.js';
import { TunnelGroups1795737600006 } from './0006-tunnel-groups.js';
import { Claims1795737600007 } from './0007-claims.js';
import { BindDecisions1795737600008 } from './0008-bind-decisions.js';
import { Transparency1795737600009 } from './0009-transparency.js';

/** Every migration, oldest first. A list rather than a glob, so that only compiled and reviewed migrations run. */
export const MIGRATIONS = [
  EventLog1795737600001,
  Accounts1795737600002,
  SshCredentials1795737600003,
  TcpEdges1795737600004,
  IpPolicies1795737600005,
  TunnelGroups1795737600006,
  Claims1795737600007,
  BindDecisions1795737600008,
  Transparency1795737600009,
];
