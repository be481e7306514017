import { requireFreeAddress } from '../../api/free-address.js';
import type { GatewaySettings } from '../../gateway/index.js';
import { messageOf } from '../../kernel/error-message.js';
import { OperatorError } from '../../kernel/operator-error.js';

/** Throws OperatorError, with the setting, if the gateway could not listen at one of its addresses. */
export async function requireFreeAddresses({ sshListen, gatewayMetricsAddress }: GatewaySettings): Promise<void> {
  await requireFree('GATEWAY_LISTEN', sshListen);
  if (gatewayMetricsAddress !== undefined) await requireFree('GATEWAY_METRICS_LISTEN', gatewayMetricsAddress);
}

async function requireFree(setting: string, { host, port }: GatewaySettings['sshListen']): Promise<void> {
  try {
    await requireFreeAddress(host, port);
  } catch (cause) {
    const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
    const advice = isTaken ? 'another program listens there; stop it, or set' : 'set an address of this machine in';
    throw new OperatorError(`${messageOf(cause)}: ${advice} ${setting}`, { cause });
  }
}
