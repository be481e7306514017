/** Why the gateway ended a connection, by the names in metrics. */
export type EndReason =
  | 'protocol'
  | 'proxy_header'
  | 'identification'
  | 'login_limit'
  | 'window'
  | 'key_exchange'
  | 'unanswered'
  | 'memory'
  | 'lost';

/** A client broke a rule, so its connection ends. The message completes the sentence "the client ...". */
export class Violation extends Error {
  override name = 'Violation';

  constructor(
    readonly reason: EndReason,
    message: string,
    /** What the client is told. Absent: nothing. */
    readonly farewell?: string,
  ) {
    super(message);
  }
}
