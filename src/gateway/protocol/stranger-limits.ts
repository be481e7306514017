import { Violation } from './violation.js';

const MAX_BYTES = 64 * 1024;
const MAX_PACKETS = 100;

/** What a client may send before it has logged in. Each function throws Violation beyond its limit. */
export class StrangerLimits {
  private bytes = 0;
  private packets = 0;
  private lastNumber = 0;
  private exchanges = 0;

  received(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > MAX_BYTES) throw new Violation('login_limit', `sent ${this.bytes} bytes and did not log in`);
  }

  /** `number`: that of the next packet. A strict key exchange begins anew with 0. */
  read(number: number): void {
    this.packets += number < this.lastNumber ? number : number - this.lastNumber;
    this.lastNumber = number;
    if (this.packets <= MAX_PACKETS) return;
    throw new Violation('login_limit', `sent ${this.packets} packets and did not log in`);
  }

  exchanged(): void {
    this.exchanges += 1;
  }

  exchangesKeys(): void {
    if (this.exchanges === 0) return;
    throw new Violation('key_exchange', 'began a second key exchange and did not log in');
  }
}
