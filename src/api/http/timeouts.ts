/** Time limits of a connection. Node checks its connections only every `checkEveryMs`. */
export interface Timeouts {
  readonly keepAliveMs: number;
  readonly headersMs: number;
  readonly requestMs: number;
  readonly checkEveryMs: number;
}

export const TIMEOUTS: Timeouts = {
  // Common proxies close an idle connection after 60 s. The proxy must close first: otherwise it may send a request
  // into a connection that the service is just closing.
  keepAliveMs: 72_000,
  // A slow client, or one that sends no byte at all, ties up a connection; give up after 15 s.
  headersMs: 15_000,
  // From the first byte of the request to the last byte of its body: a body of 2 MiB fits at 280 kbit/s.
  requestMs: 60_000,
  checkEveryMs: 5_000,
};
