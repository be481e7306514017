import { EventLog1795651200001 } from './0001-event-log.js';
import { Accounts1795651200002 } from './0002-accounts.js';
import { SshCredentials1795651200003 } from './0003-ssh-credentials.js';
import { TcpEdges1795651200004 } from './0004-tcp-edges.js';
import { IpPolicies1795651200005 } from './0005-ip-policies.js';
import { TunnelGroups1795651200006 } from './0006-tunnel-groups.js';
import { Claims1795651200007 } from './0007-claims.js';
import { BindDecisions1795651200008 } from './0008-bind-decisions.js';
import { Transparency1795651200009 } from './0009-transparency.js';

/** Every migration, oldest first. A list rather than a glob, so that only compiled and reviewed migrations run. */
export const MIGRATIONS = [
  EventLog1795651200001,
  Accounts1795651200002,
  SshCredentials1795651200003,
  TcpEdges1795651200004,
  IpPolicies1795651200005,
  TunnelGroups1795651200006,
  Claims1795651200007,
  BindDecisions1795651200008,
  Transparency1795651200009,
];
