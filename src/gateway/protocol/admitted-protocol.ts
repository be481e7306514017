import Protocol from 'ssh2/lib/protocol/Protocol.js';
import { Violation } from './violation.js';

type OnPayload = (payload: Buffer) => unknown;

/** Numbers of messages. A client may send these before it has logged in. */
const BEFORE_LOGIN: readonly number[] = [1, 2, 3, 4, 5, 7, 20, 50];
const DISCONNECT = 1;
/** A reason of DISCONNECT (RFC 4253, 11.1). */
const NO_MORE_AUTH_METHODS = 14;
const USERAUTH = { first: 50, last: 79 };
const GLOBAL_REQUEST = 80;
const CHANNEL_DATA = 94;
/** The number of the message, the channel, and the length of the data. */
const DATA_HEADER_BYTES = 9;
/** Only servers send this request. The library would read each key in it, for up to a quarter of a second. */
const HOST_KEYS = Buffer.from('hostkeys-00@openssh.com');
/** The name follows the number of the message and the length of the name. */
const NAME_AT = 5;

/** The first choices of the gateway, which a client may guess (RFC 4253, 7). */
interface Preferred {
  readonly kex: string | undefined;
  readonly hostKey: string | undefined;
}

/**
 * The library's transport, which refuses messages that a client must not send now, and accepts a right guess of a
 * client. For both it replaces a property of the library by an accessor: `_onPayload` reads each message, and
 * `_skipNextInboundPacket` says that a guess was wrong. `transport.spec.ts` shows both, and `own-gateway-login.spec.ts`
 * its farewell.
 */
export class AdmittedProtocol extends Protocol {
  declare private read: OnPayload;
  declare private hasGuess: boolean;
  isLoggedIn = false;

  constructor(
    config: object,
    private readonly preferred: Preferred,
  ) {
    super(config);
  }

  /** The library reads this after the client's list of algorithms. A guess is about the next packet only. */
  get _skipNextInboundPacket(): boolean {
    const { hasGuess } = this;
    this.hasGuess = false;
    return hasGuess && !isRightGuess(this._kex?._remoteKexinit, this.preferred);
  }

  set _skipNextInboundPacket(hasGuess: boolean) {
    this.hasGuess = hasGuess;
  }

  /** Ends the login with a text, for which the library's own `disconnect` has no room. */
  disconnectWith(text: string): void {
    const { write } = this._packetRW;
    const bytes = Buffer.from(text);
    const packet = write.alloc(13 + bytes.length, true);
    let at = write.allocStartKEX;
    at = packet.writeUInt8(DISCONNECT, at);
    at = packet.writeUInt32BE(NO_MORE_AUTH_METHODS, at);
    at = packet.writeUInt32BE(bytes.length, at);
    at += bytes.copy(packet, at);
    // No language.
    packet.writeUInt32BE(0, at);
    this._cipher.encrypt(write.finalize(packet, true));
  }

  get _onPayload(): OnPayload {
    return (payload) => {
      refuseUnlessAdmitted(payload, this.isLoggedIn);
      return this.read(payload);
    };
  }

  set _onPayload(read: OnPayload) {
    this.read = read;
  }
}

/** The lists follow the number of the message and the cookie: key exchanges first, then types of host keys. */
const LISTS_AT = 17;

/** Decides as stock sshd does: both sides prefer the same key exchange and the same type of host key. */
function isRightGuess(lists: Buffer | undefined, { kex, hostKey }: Preferred): boolean {
  if (lists === undefined) return false;
  const kexBytes = lists.readUInt32BE(LISTS_AT);
  const firstAt = (at: number): string | undefined =>
    lists.toString('latin1', at + 4, at + 4 + lists.readUInt32BE(at)).split(',')[0];
  return firstAt(LISTS_AT) === kex && firstAt(LISTS_AT + 4 + kexBytes) === hostKey;
}

/** Throws Violation. */
function refuseUnlessAdmitted(payload: Buffer, isLoggedIn: boolean): void {
  const [number = 0] = payload;
  if (payload.length === 0) return;
  const isAdmitted = isLoggedIn ? number < USERAUTH.first || number > USERAUTH.last : BEFORE_LOGIN.includes(number);
  if (!isAdmitted) throw new Violation('protocol', `sent the message ${number}, which a client must not send now`);
  const isHostKeys = payload.subarray(NAME_AT, NAME_AT + HOST_KEYS.length).equals(HOST_KEYS);
  if (number === GLOBAL_REQUEST && isHostKeys)
    throw new Violation('protocol', 'sent a request with host keys, which only a server may send');
  // While the data waits, the whole packet stays in memory. So it may hold nothing but the data.
  if (number === CHANNEL_DATA && payload.length > DATA_HEADER_BYTES) refuseTrailingBytes(payload);
}

function refuseTrailingBytes(payload: Buffer): void {
  const bytes = payload.readUInt32BE(DATA_HEADER_BYTES - 4);
  if (payload.length > DATA_HEADER_BYTES + bytes)
    throw new Violation('protocol', 'sent bytes after the end of its data');
}
