/** What the gateway needs of the log of the process. No field may hold a secret. */
export interface GatewayLog {
  line(level: 'error' | 'warn' | 'info' | 'debug', fields: object, message: string): void;
}
