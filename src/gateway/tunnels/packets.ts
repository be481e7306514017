import type { ServerChannel } from 'ssh2';

/** RFC 4254 knows no minimum. No client in use takes less, and each byte in a packet of its own costs 60. */
const MIN_PACKET_BYTES = 256;

/** Whether the client takes packets of a usable size. With size 0 the library would write empty ones without end. */
export function takesPackets({ outgoing }: Pick<ServerChannel, 'outgoing'>): boolean {
  const { packetSize } = outgoing as { readonly packetSize: number };
  return packetSize >= MIN_PACKET_BYTES;
}
