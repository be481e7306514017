/** An event of a decision, in its storage format; therefore its type has a version (`..._created.v1`). */
export interface DomainEvent {
  readonly type: string;
  readonly data: object;
}

/** Who made the change, from where and in which request. Stored as JSON beside the event; never holds a secret. */
export interface EventMetadata {
  /** Id of the user or bot; `system` for changes by the service itself, `oidc` for users created on first sign-in. */
  readonly actor: string;
  readonly api_key_id?: string;
  /** Instead of `api_key_id` when the caller signed in with OpenID Connect: the token's `jti`, or its SHA-256. */
  readonly token_id?: string;
  readonly ip?: string;
  readonly user_agent?: string;
  readonly operation_id?: string;
  /** The trace-id of the request's `traceparent`. Absent without one: see `correlationOf`. */
  readonly correlation_id?: string;
  /** Id of the event that caused this one: the deletion of a user causes those of its keys. */
  readonly causation_id?: string;
  /** The caller's Idempotency-Key, and the SHA-256 of the request that came with it. */
  readonly idempotency_key?: string;
  readonly request_hash?: string;
}

/** What the events of one request have in common, beyond this service if the request belongs to a trace. */
export const correlationOf = ({ correlation_id, operation_id }: EventMetadata): string | undefined =>
  correlation_id ?? operation_id;
