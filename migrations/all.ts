import { EventLog1795996800013 } from './0001-event-log.js';
import { Accounts1795996800014 } from './0002-accounts.js';
import { SshCredentials1795996800015 } from './0003-ssh-credentials.js';
import { TcpEdges1795996800016 } from './0004-tcp-edges.js';
import { IpPolicies1795996800017 } from './0005-ip-policies.js';
import { TunnelGroups1795996800018 } from './0006-tunnel-groups.js';
import { Claims1795996800019 } from './0007-claims.js';
import { BindDecisions1795996800020 } from './0008-bind-decisions.js';
import { Transparency1795996800021 } from './0009-transparency.js';
import { TunnelSessions1795996800022 } from './0010-tunnel-sessions.js';
import { TunnelRecords1795996800023 } from './0011-tunnel-records.js';
import { Reservations1795996800024 } from './0012-reservations.js';

/** Every migration, oldest first. A list rather than a glob, so that only compiled and reviewed migrations run. */
export const MIGRATIONS = [
  EventLog1795996800013,
  Accounts1795996800014,
  SshCredentials1795996800015,
  TcpEdges1795996800016,
  IpPolicies1795996800017,
  TunnelGroups1795996800018,
  Claims1795996800019,
  BindDecisions1795996800020,
  Transparency1795996800021,
  TunnelSessions1795996800022,
  TunnelRecords1795996800023,
  Reservations1795996800024,
];
