import { Violation } from './violation.js';

const MAX_BYTES = 64 * 1024;
const MAX_PACKETS = 100;

/** Limits what a client may send before it has logged in. Each method throws Violation above its limit. */
export class StrangerLimits {
  private bytes = 0;
  private packets = 0;
  private lastNumber = 0;
  private exchanges = 0;

  received(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > MAX_BYTES) throw new Violation('login_limit', `sent ${this.bytes} bytes before it logged in`);
  }

  /** `number`: the number of the next packet. A strict key exchange sets it to 0. */
  read(number: number): void {
    this.packets += number < this.lastNumber ? number : number - this.lastNumber;
    this.lastNumber = number;
    if (this.packets <= MAX_PACKETS) return;
    throw new Violation('login_limit', `sent ${this.packets} packets before it logged in`);
  }

  exchanged(): void {
    this.exchanges += 1;
  }

  exchangesKeys(): void {
    if (this.exchanges === 0) return;
    throw new Violation('key_exchange', 'began a second key exchange before it logged in');
  }
}
