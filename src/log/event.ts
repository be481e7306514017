/** An event as a decision makes it: the storage format itself, so its type carries a version (`..._created.v1`). */
export interface DomainEvent {
  readonly type: string;
  readonly data: object;
}

/** Who did it, from where and why. Stored as JSON beside the event; never holds a secret. */
export interface EventMetadata {
  /** Id of the user or bot; `system` for what the service does by itself, `oidc` for a user made on first sign-in. */
  readonly actor: string;
  readonly api_key_id?: string;
  /** Instead of `api_key_id` when the caller signed in with OpenID Connect: the token's `jti`, or its SHA-256. */
  readonly token_id?: string;
  readonly ip?: string;
  readonly user_agent?: string;
  readonly operation_id?: string;
  /** The caller's Idempotency-Key, and the SHA-256 of the request that came with it. */
  readonly idempotency_key?: string;
  readonly request_hash?: string;
}
