/** The service gave no answer that a gateway may act on. The message is a sentence for the operator. */
export class ServiceUnavailable extends Error {
  override name = 'ServiceUnavailable';

  constructor(
    message: string,
    /** The HTTP status, if there was an answer. */
    readonly status?: number,
  ) {
    super(message);
  }
}
