import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { messageOf } from '../../kernel/error-message.js';
import type { Failures } from '../failures.js';
import type { GatewayContext } from '../gateway-context.js';
import { carry } from '../tunnels/carry.js';
import { NotCarried } from '../tunnels/not-carried.js';
import type { Endpoint, OpenTunnel } from '../tunnels/open-tunnel.js';
import { BindRefused } from './bind-request.js';

/** Listens at an address of this machine, and carries the connections through the tunnel that `tunnelOf` returns. */
export class BindListener {
  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  /** Port 0 means any free port. Throws BindRefused if the address is in use or not on this machine. */
  static async open(
    at: Endpoint,
    tunnelOf: () => OpenTunnel | undefined,
    { failures, ports }: Pick<GatewayContext, 'failures' | 'ports'>,
  ): Promise<BindListener> {
    let reason: unknown = new Error('no port is free');
    for (const port of at.port === 0 ? ports.anyForBind() : [at.port]) {
      try {
        return await BindListener.listen({ address: at.address, port }, tunnelOf, failures);
      } catch (error) {
        reason = error;
      }
    }
    throw new BindRefused('cannot_listen', `the gateway cannot listen there: ${messageOf(reason)}`);
  }

  private static async listen(
    at: Endpoint,
    tunnelOf: () => OpenTunnel | undefined,
    failures: Failures,
  ): Promise<BindListener> {
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
    return new BindListener(server, at.port);
  }

  /** Takes no further connections. */
  close(): void {
    this.server.close();
  }
}
