/**
 * The SSH transport of the library ssh2: packets, key exchange and ciphers. The library's own server on top of it counts
 * nothing that a client makes it hold, so `transport.ts` uses this part alone. It is no public module: the version is
 * pinned, and `transport.spec.ts` fails if a part that is named here changes.
 */
declare module 'ssh2/lib/protocol/Protocol.js' {
  class Protocol {
    constructor(config: object);
    /** Sends the identification line, once. */
    start(): void;
    /** Calls the handlers of the messages in these bytes. Throws for what is no SSH. */
    parse(chunk: Buffer, from: number, to: number): void;
    disconnect(reason: number): void;
    ping(): void;
    serviceAccept(name: string): void;
    authSuccess(): void;
    authFailure(methods: readonly string[]): void;
    authPKOK(algorithm: string, key: Buffer): void;
    requestSuccess(data?: Buffer): void;
    requestFailure(): void;
    channelSuccess(channel: number): void;
    channelFailure(channel: number): void;
    channelOpenConfirm(remote: number, local: number, window: number, packetSize: number): void;
    channelOpenFail(remote: number, reason: number, description: string): void;
    forwardedTcpip(local: number, window: number, packetSize: number, addresses: object): void;
    channelData(channel: number, data: Buffer): void;
    channelExtData(channel: number, data: Buffer, type: number): void;
    channelWindowAdjust(channel: number, bytes: number): void;
    channelEOF(channel: number): void;
    channelClose(channel: number): void;
    exitStatus(channel: number, status: number): void;
    /** Set from the first message of a key exchange to its last one. Meanwhile everything that is sent waits in an array. */
    readonly _kexinit: unknown;
    /** Set from the client's list of algorithms on, which it holds. */
    readonly _kex: { readonly _remoteKexinit: Buffer } | undefined;
    /** Counts packets from 0 on; a strict key exchange begins anew. Undefined before the identification line. */
    readonly _decipher: { readonly inSeqno: number } | undefined;
  }
  export = Protocol;
}
