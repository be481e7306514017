import { EventLog1763683200001 } from './0001-event-log.js';
import { Access1763683200002 } from './0002-access.js';
import { SshCredentials1763683200003 } from './0003-ssh-credentials.js';
import { TcpEdges1763683200004 } from './0004-tcp-edges.js';
import { OwnedThings1763683200005 } from './0005-owned-things.js';
import { BindDecisions1763683200006 } from './0006-bind-decisions.js';
import { Rights1763683200007 } from './0007-rights.js';
import { EventFilters1763683200008 } from './0008-event-filters.js';
import { PendingRemovals1763683200009 } from './0009-pending-removals.js';
import { ByIndex1763683200010 } from './0010-by-index.js';
import { RequirePrimary1763683200011 } from './0011-require-primary.js';
import { AclDigest1763683200012 } from './0012-acl-digest.js';
import { SchemaRequirements1763683200013 } from './0013-schema-requirements.js';
import { Expiry1763683200014 } from './0014-expiry.js';
import { GatewayNames1763683200016 } from './0016-gateway-names.js';
import { CredentialChanges1763683200017 } from './0017-credential-changes.js';
import { ListFilters1763683200018 } from './0018-list-filters.js';
import { Checkpoints1763683200019 } from './0019-checkpoints.js';
import { DecisionsAgain1763683200020 } from './0020-decisions-again.js';
import { IpPolicies1763683200023 } from './0023-ip-policies.js';
import { EdgeChanges1763683200024 } from './0024-edge-changes.js';
import { ByIndexAlone1763683200025 } from './0025-by-index-alone.js';
import { CredentialsById1763683200026 } from './0026-credentials-by-id.js';
import { NoOrderOfIds1763683200027 } from './0027-no-order-of-ids.js';
import { EndedStreams1763683200028 } from './0028-ended-streams.js';
import { FastActor1763683200029 } from './0029-fast-actor.js';
import { Claims1763683200030 } from './0030-claims.js';

/** Every migration, oldest first. A list rather than a glob, so that only compiled and reviewed migrations run. */
export const MIGRATIONS = [
  EventLog1763683200001,
  Access1763683200002,
  SshCredentials1763683200003,
  TcpEdges1763683200004,
  OwnedThings1763683200005,
  BindDecisions1763683200006,
  Rights1763683200007,
  EventFilters1763683200008,
  PendingRemovals1763683200009,
  ByIndex1763683200010,
  RequirePrimary1763683200011,
  AclDigest1763683200012,
  SchemaRequirements1763683200013,
  Expiry1763683200014,
  GatewayNames1763683200016,
  CredentialChanges1763683200017,
  ListFilters1763683200018,
  Checkpoints1763683200019,
  DecisionsAgain1763683200020,
  IpPolicies1763683200023,
  EdgeChanges1763683200024,
  ByIndexAlone1763683200025,
  CredentialsById1763683200026,
  NoOrderOfIds1763683200027,
  EndedStreams1763683200028,
  FastActor1763683200029,
  Claims1763683200030,
];
