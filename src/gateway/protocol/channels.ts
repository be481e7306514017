import { ChannelLink, MAX_PACKET_BYTES, type RemoteEnd, WINDOW_BYTES } from './channel-link.js';
import { NotCarried } from './not-carried.js';
import type { Transport } from './transport.js';
import { Violation } from './violation.js';

/** The handlers of the messages about a channel. An error that they throw ends the connection. */
export interface OpenChannel {
  /** The bytes that it holds in memory. */
  readonly bufferedBytes: number;
  receive(data: Buffer): void;
  receiveEnd(): void;
  /** The client takes more data. */
  receiveWindow(): void;
  /** The client has closed the channel. This channel must call `gone` once it holds no bytes. */
  receiveClose(gone: () => void): void;
  /** The connection is gone. This channel must call `gone` once it holds no bytes. */
  lose(gone: () => void): void;
  /** Ends the channel at once, and drops the bytes that it holds. */
  cut(reason: string): void;
  /** Whether the gateway grants this request of the client. */
  receiveRequest(type: string, data: unknown): boolean;
}

/** The addresses of a connection to a bind, in the words of the client that bound it. */
export interface ForwardedAddresses {
  readonly boundAddr: string;
  readonly boundPort: number;
  readonly remoteAddr: string;
  readonly remotePort: number;
}

/** A channel that the gateway asked for, and the client has not answered yet. */
interface Asked {
  readonly since: number;
  /** Returns the channel, or undefined to close it. */
  readonly answered: (link: ChannelLink | Error) => OpenChannel | undefined;
  readonly gone: () => void;
}

interface Opened {
  readonly link: ChannelLink;
  /** Undefined if nothing needed the channel any more when the client answered. */
  readonly channel: OpenChannel | undefined;
  readonly gone: () => void;
}

/** OpenSSH answers when its own connection to the target has succeeded or failed, which can take two minutes. */
const MAX_OPENING_MS = 300_000;
const MAX_CLOSING_MS = 60_000;
/** Fewer bytes than this wait for a visitor that reads. */
const MIN_LARGE_BYTES = 128 * 1024;
const PROHIBITED = 1;
const UNKNOWN_TYPE = 3;
const SHORTAGE = 4;
const NOTHING = (): void => undefined;

/**
 * The channels of one connection. A channel counts from the request for it until both sides have closed it and its
 * bytes are taken, even if the client never answers the request or the close.
 */
export class Channels {
  private readonly asked = new Map<number, Asked>();
  private readonly opened = new Map<number, Opened>();
  /** Channels that are closed or have lost their connection, and hold bytes that a visitor has not taken. */
  private readonly finishing = new Set<Opened>();
  private next = 0;

  constructor(private readonly transport: Transport) {}

  get bufferedBytes(): number {
    let sum = 0;
    for (const { channel } of this.opened.values()) sum += channel?.bufferedBytes ?? 0;
    for (const { channel } of this.finishing) sum += channel?.bufferedBytes ?? 0;
    return sum;
  }

  /** Ends the channel that holds the most bytes. False if none holds many. */
  cutLargest(reason: string): boolean {
    let largest: OpenChannel | undefined;
    for (const { channel } of [...this.opened.values(), ...this.finishing]) {
      if (channel !== undefined && channel.bufferedBytes > (largest?.bufferedBytes ?? MIN_LARGE_BYTES))
        largest = channel;
    }
    largest?.cut(reason);
    return largest !== undefined;
  }

  /** Asks the client for a channel. Calls `gone` when the channel no longer counts. */
  ask(addresses: ForwardedAddresses, answered: Asked['answered'], gone: () => void): void {
    const local = this.next++;
    this.asked.set(local, { since: performance.now(), answered, gone });
    this.transport.send((protocol) => protocol.forwardedTcpip(local, WINDOW_BYTES, MAX_PACKET_BYTES, addresses));
  }

  /** The client asks for a channel. `open` returns the channel, or undefined to refuse it. */
  askedFor(type: string, remote: RemoteEnd, open: (link: ChannelLink) => OpenChannel | undefined): void {
    const link = new ChannelLink(this.transport, remote);
    const channel = type === 'session' && link.takesPackets ? open(link) : undefined;
    if (channel === undefined) {
      const reason = type === 'session' ? SHORTAGE : type.startsWith('direct-') ? PROHIBITED : UNKNOWN_TYPE;
      const text =
        type === 'session'
          ? 'this connection may open no further session'
          : 'this gateway carries only tunnels of ssh -R';
      this.transport.send((protocol) => protocol.channelOpenFail(remote.id, reason, text));
      return;
    }
    const local = this.next++;
    this.opened.set(local, { link, channel, gone: NOTHING });
    this.transport.send((protocol) => protocol.channelOpenConfirm(remote.id, local, WINDOW_BYTES, MAX_PACKET_BYTES));
  }

  confirmed(local: number, remote: RemoteEnd): void {
    const { answered, gone } = this.takeAsked(local);
    const link = new ChannelLink(this.transport, remote);
    const unusable = link.takesPackets ? undefined : new NotCarried('the client takes no packets of a usable size');
    const channel = answered(unusable ?? link);
    this.opened.set(local, { link, channel, gone });
    if (channel === undefined) link.close();
  }

  refused(local: number, description: string): void {
    const { answered, gone } = this.takeAsked(local);
    gone();
    answered(new NotCarried(`the client refuses the connection: ${description}`));
  }

  received(local: number, data: Buffer): void {
    const found = this.find(local);
    if (found?.channel === undefined) found?.link.take(data.length);
    else found.channel.receive(data);
  }

  ended(local: number): void {
    const found = this.find(local);
    if (found?.channel === undefined) found?.link.ended();
    else found.channel.receiveEnd();
  }

  adjusted(local: number, bytes: number): void {
    const found = this.find(local);
    found?.link.adjusted(bytes);
    found?.channel?.receiveWindow();
  }

  requested(local: number, type: string, wantsReply: boolean, data: unknown): void {
    const found = this.find(local);
    const isGranted = found?.channel?.receiveRequest(type, data) === true;
    if (wantsReply) found?.link.answer(isGranted);
  }

  closed(local: number): void {
    const found = this.find(local);
    if (found === undefined) return;
    this.opened.delete(local);
    found.link.close();
    this.finish(found, (channel, gone) => channel.receiveClose(gone));
  }

  /** The connection is gone. */
  lost(): void {
    const [asked, opened] = [[...this.asked.values()], [...this.opened.values()]];
    this.asked.clear();
    this.opened.clear();
    for (const { answered, gone } of asked) {
      gone();
      answered(new NotCarried('the client is gone'));
    }
    for (const one of opened) this.finish(one, (channel, gone) => channel.lose(gone));
  }

  private finish(one: Opened, end: (channel: OpenChannel, gone: () => void) => void): void {
    this.finishing.add(one);
    const gone = (): void => {
      if (this.finishing.delete(one)) one.gone();
    };
    if (one.channel === undefined) gone();
    else end(one.channel, gone);
  }

  /** Throws Violation if the client has not answered for too long. */
  checkAnswers(): void {
    const now = performance.now();
    for (const [local, { since }] of this.asked) {
      if (now - since > MAX_OPENING_MS)
        throw new Violation('unanswered', `did not open or refuse the channel ${local}`);
    }
    for (const [local, { link }] of this.opened) {
      if (now - (link.closedAt ?? now) > MAX_CLOSING_MS) {
        throw new Violation('unanswered', `did not close the channel ${local}`);
      }
    }
  }

  private takeAsked(local: number): Asked {
    const asked = this.asked.get(local);
    if (asked === undefined)
      throw new Violation('protocol', `answered for the channel ${local}, which the gateway did not ask for`);
    this.asked.delete(local);
    return asked;
  }

  /** Undefined for a channel that both sides have closed: messages that were under way may still name it. */
  private find(local: number): Opened | undefined {
    if (local >= this.next || this.asked.has(local)) {
      throw new Violation('protocol', `named the channel ${local}, which is not open`);
    }
    return this.opened.get(local);
  }
}
