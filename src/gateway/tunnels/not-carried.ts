/** A connection that a tunnel does not take, for a reason that is no fault: the message says it. */
export class NotCarried extends Error {
  override name = 'NotCarried';
}
