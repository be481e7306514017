import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { messageOf } from '../../kernel/error-message.js';
import type { Failures } from '../context/failures.js';
import type { GatewayContext } from '../context/gateway-context.js';
import type { Endpoint } from '../endpoint.js';
import { NotCarried } from '../protocol/not-carried.js';
import { BindRefused } from '../tunnels/bind-refused.js';
import { carry } from '../tunnels/carry.js';
import type { Claim, Claimant } from '../tunnels/held-addresses.js';
import type { OpenTunnel } from '../tunnels/open-tunnel.js';

/** Listens at an address of this machine, and carries the connections through the tunnel that `tunnelOf` returns. */
export class BindListener {
  private constructor(
    private readonly server: Server,
    readonly port: number,
    private readonly claim: Claim,
  ) {}

  /** Port 0 means any free port. Throws BindRefused if the address is held, in use or not on this machine. */
  static async open(
    at: Endpoint,
    by: Claimant,
    tunnelOf: () => OpenTunnel | undefined,
    { failures, ports, addresses }: Pick<GatewayContext, 'failures' | 'ports' | 'addresses'>,
  ): Promise<BindListener> {
    let reason: unknown = new Error('no port is free');
    for (const port of at.port === 0 ? ports.anyForBind() : [at.port]) {
      const address = { address: at.address, port };
      if (at.port === 0 && addresses.isHeld(address)) continue;
      const claim = await addresses.claim(address, by);
      try {
        return new BindListener(await BindListener.listen(address, tunnelOf, failures), port, claim);
      } catch (error) {
        claim.release();
        reason = error;
      }
    }
    throw new BindRefused('cannot_listen', `the gateway cannot listen there: ${messageOf(reason)}`);
  }

  private static async listen(
    at: Endpoint,
    tunnelOf: () => OpenTunnel | undefined,
    failures: Failures,
  ): Promise<Server> {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
      socket.setNoDelay(true);
      const { remoteAddress = '', remotePort = 0 } = socket;
      const opened = tunnelOf()?.connect({ address: remoteAddress, port: remotePort });
      // Without this listener a client that leaves before its channel is open would end the process.
      socket.on('error', () => socket.destroy());
      if (opened === undefined) socket.destroy();
      else {
        opened
          .then((tunnel) => carry(socket, tunnel))
          .catch((error) => {
            socket.resetAndDestroy();
            if (!(error instanceof NotCarried)) failures.count(remoteAddress, error);
          });
      }
    });
    server.listen({ host: at.address, port: at.port, exclusive: true });
    await once(server, 'listening');
    // Accepting can fail for a moment, for example without a free file descriptor.
    server.on('error', (error) => failures.count(`${at.address}:${at.port}`, error));
    return server;
  }

  /** Takes no further connections. The address is free at once, even while connections of it go on. */
  close(): void {
    this.server.close();
    this.claim.release();
  }
}
