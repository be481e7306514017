/** The operator's settings for gateways. */
export abstract class GatewayPolicy {
  /** Fingerprints of keys that grant no access, even if they were uploaded before. */
  abstract readonly deniedFingerprints: ReadonlySet<string>;
  /** Decisions that may wait to be recorded. */
  abstract readonly decisionsQueueLimit: number;
  /** How long decisions are kept. 0 means without a limit. */
  abstract readonly decisionsRetentionDays: number;
}
