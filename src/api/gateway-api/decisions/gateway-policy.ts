/** The operator's settings for gateways. */
export abstract class GatewayPolicy {
  /** Fingerprints of keys that grant no access, even if they were uploaded before. */
  abstract readonly deniedFingerprints: ReadonlySet<string>;
  /** Maximum number of decisions that wait to be recorded; beyond it gateways get 503. */
  abstract readonly decisionsQueueLimit: number;
  /** How long the service keeps decisions. 0: forever. */
  abstract readonly decisionsRetentionDays: number;
  /** How long gateways may take to report after the service was away. */
  abstract readonly outageGraceMs: number;
}
