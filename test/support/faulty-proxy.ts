import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import { stopAtEnd } from './leftovers.js';

/** A TCP proxy between the service and PostgreSQL, which can fall silent or lead to another server. */
export class FaultyProxy {
  private readonly sockets = new Set<Socket>();
  private isSilent = false;
  private readonly server: Server;

  private constructor(private port: number) {
    this.server = createServer({ allowHalfOpen: true }, (client) => this.accept(client));
  }

  static async to(port: number, address = '127.0.0.1', ownPort = 0): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(port);
    proxy.server.listen(ownPort, address);
    await once(proxy.server, 'listening');
    stopAtEnd(async () => {
      proxy.cut();
      proxy.server.close();
    });
    return proxy;
  }

  get ownPort(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get host(): string {
    return `127.0.0.1:${this.ownPort}`;
  }

  /** From now on drops every byte in both directions, also of new connections, and closes nothing. */
  fallSilent(): void {
    this.isSilent = true;
  }

  /** New connections work again. Connections that lost bytes stay broken. */
  speak(): void {
    this.isSilent = false;
    this.cut();
  }

  /** Cuts all connections and leads new ones to another server. */
  leadTo(port: number): void {
    this.port = port;
    this.cut();
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private accept(client: Socket): void {
    const upstream = createConnection({ port: this.port, host: '127.0.0.1', allowHalfOpen: true });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.sockets.add(from);
      from.on('data', (data) => this.isSilent || to.write(data));
      from
        .on('error', () => undefined)
        .on('end', () => this.isSilent || to.end())
        .on('close', () => {
          this.sockets.delete(from);
          if (!this.isSilent) to.destroy();
        });
    }
  }
}
