import Protocol from 'ssh2/lib/protocol/Protocol.js';
import { Violation } from './violation.js';

type OnPayload = (payload: Buffer) => unknown;

/** Numbers of messages: of the transport, of the authentication, and of connections. */
const BEFORE_LOGIN: readonly number[] = [1, 2, 3, 4, 5, 7, 20, 50];
const USERAUTH = { first: 50, last: 79 };
const GLOBAL_REQUEST = 80;
const CHANNEL_DATA = 94;
/** Number, channel, and the length of the data. */
const DATA_HEADER_BYTES = 9;
/** Only servers send it. The library would read each key in it, which can take a quarter of a second. */
const HOST_KEYS = Buffer.from('hostkeys-00@openssh.com');
/** Behind the number of the message and the length of the name. */
const NAME_AT = 5;

/**
 * The library's transport, with a question before each packet is read. The library's constructor sets its reader as a
 * property; here the property is an accessor, whose reader asks first. `transport.spec.ts` shows that it does.
 */
export class AdmittedProtocol extends Protocol {
  declare private read: OnPayload;
  isLoggedIn = false;

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

/** Throws Violation. */
function refuseUnlessAdmitted(payload: Buffer, isLoggedIn: boolean): void {
  const [number = 0] = payload;
  if (payload.length === 0) return;
  const isAdmitted = isLoggedIn ? number < USERAUTH.first || number > USERAUTH.last : BEFORE_LOGIN.includes(number);
  if (!isAdmitted) throw new Violation('protocol', `sent the message ${number}, which a client must not send now`);
  const isHostKeys = payload.subarray(NAME_AT, NAME_AT + HOST_KEYS.length).equals(HOST_KEYS);
  if (number === GLOBAL_REQUEST && isHostKeys) throw new Violation('protocol', 'sent keys of a host');
  // The data is a part of the packet, which stays in memory as long as it waits.
  if (number === CHANNEL_DATA && payload.length > DATA_HEADER_BYTES) refuseTrailingBytes(payload);
}

function refuseTrailingBytes(payload: Buffer): void {
  const bytes = payload.readUInt32BE(DATA_HEADER_BYTES - 4);
  if (payload.length > DATA_HEADER_BYTES + bytes)
    throw new Violation('protocol', 'sent bytes after the end of its data');
}
