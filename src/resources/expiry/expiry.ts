/** When something expires; null or absent: never. Whether it has expired is for the database's clock to say. */
export interface Expiring {
  readonly expires_at?: Date | null;
}

/** The data of the event that sets or removes an expiry. The time is RFC 3339, UTC, milliseconds. */
export interface ExpiryChange {
  readonly expires_at: string | null;
}

/** The state that an event leaves. */
export const expiryOf = ({ expires_at }: ExpiryChange): Required<Expiring> => ({
  expires_at: expires_at === null ? null : new Date(expires_at),
});
