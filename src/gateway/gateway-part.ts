/** A part of the gateway that runs while it does. */
export interface GatewayPart {
  start(): Promise<void>;
  stop(): Promise<void>;
}
