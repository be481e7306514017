/** What the operator decided about gateways: see config.ts. */
export abstract class GatewayPolicy {
  abstract readonly deniedFingerprints: ReadonlySet<string>;
  abstract readonly decisionsQueueLimit: number;
  /** 0: for ever. */
  abstract readonly decisionsRetentionDays: number;
}
