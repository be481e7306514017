/** An event that a decision returns, in its storage format. So its type has a version, as in `..._created.v1`. */
export interface DomainEvent {
  readonly type: string;
  readonly data: object;
}

/**
 * Who made the change, from where and in which request. It is stored as JSON with the event, and never holds a secret.
 */
export interface EventMetadata {
  /**
   * The id of the user or bot. It is `system` for changes by the service itself, and `oidc` for users created at their
   * first sign-in.
   */
  readonly actor: string;
  readonly api_key_id?: string;
  /** The `jti` of the OpenID Connect token, or its SHA-256. Such a caller has no `api_key_id`. */
  readonly token_id?: string;
  readonly ip?: string;
  readonly user_agent?: string;
  readonly operation_id?: string;
  /** The trace-id of the request's `traceparent`. Absent without one: see `correlationOf`. */
  readonly correlation_id?: string;
  /** Id of the event that caused this one: the deletion of a user causes the deletion of its keys. */
  readonly causation_id?: string;
  /** The caller's Idempotency-Key, and the SHA-256 of the request that came with it. */
  readonly idempotency_key?: string;
  readonly request_hash?: string;
}

/** An id that all events of one request share. If the request belongs to a trace, it is the id of the trace. */
export const correlationOf = ({ correlation_id, operation_id }: EventMetadata): string | undefined =>
  correlation_id ?? operation_id;
