/** The address or domain is reserved by another account, or is bound only once it is reserved. */
type ReservationReason = 'reserved_elsewhere' | 'not_reserved';
export const isOfReservation = (reason: string | undefined): reason is ReservationReason =>
  reason === 'reserved_elsewhere' || reason === 'not_reserved';

type RefusalReason =
  | 'malformed'
  | 'not_served'
  | 'not_permitted'
  | ReservationReason
  | 'service_unavailable'
  | 'too_many'
  | 'cannot_listen'
  | 'held';

/** The gateway refuses a bind. The message is a sentence for the terminal of the client. */
export class BindRefused extends Error {
  override name = 'BindRefused';

  constructor(
    readonly reason: RefusalReason,
    message: string,
  ) {
    super(message);
  }
}
