/**
 * The SSH transport of the library ssh2: packets, key exchange and ciphers. `transport.ts` does not use the library's
 * own server on top of it, which does not limit the memory that a client can make it use. This is not a public module:
 * the version is pinned, and `transport.spec.ts` fails if a part that is named here changes.
 */
declare module 'ssh2/lib/protocol/Protocol.js' {
  class Protocol {
    constructor(config: object);
    /** Sends the identification line, once. */
    start(): void;
    /** Calls the handlers of the messages in these bytes. Throws for bytes that are not SSH. */
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
    /** Set during a key exchange. Meanwhile everything that is sent waits in an array. */
    readonly _kexinit: unknown;
    /** Set once the client has sent its list of algorithms. */
    readonly _kex: { readonly _remoteKexinit: Buffer } | undefined;
    /** Makes packets. `force`: also during a key exchange. */
    readonly _packetRW: {
      readonly write: {
        readonly allocStartKEX: number;
        alloc(payloadBytes: number, force: boolean): Buffer;
        finalize(packet: Buffer, force: boolean): Buffer;
      };
    };
    readonly _cipher: { encrypt(packet: Buffer): void };
    /** The number of the next packet. A strict key exchange sets it to 0. Undefined before the identification line. */
    readonly _decipher: { readonly inSeqno: number } | undefined;
  }
  export = Protocol;
}
