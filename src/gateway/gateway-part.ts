/** A part that starts and stops with the gateway. */
export interface GatewayPart {
  start(): Promise<void>;
  stop(): Promise<void>;
}
