/** The settings that the HTTP server needs. */
export interface HttpOptions {
  /** Base of every `uri` in an answer; undefined: the scheme and host of the request itself. */
  readonly publicUrl: string | undefined;
  /** Origins whose pages may call from a browser; `*`: any. */
  readonly corsOrigins: readonly string[];
  /** Addresses and CIDR ranges of the proxies whose X-Forwarded-* headers count. */
  readonly trustedProxies: readonly string[];
  /** Refuse unknown query parameters on every route for callers. */
  readonly strict: boolean;
  /** How long a change waits for a database that is away. */
  readonly writeDeadlineMs: number;
}
