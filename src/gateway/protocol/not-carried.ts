/** A tunnel does not take a connection. That is not a fault of the gateway, and the message says why. */
export class NotCarried extends Error {
  override name = 'NotCarried';
}
