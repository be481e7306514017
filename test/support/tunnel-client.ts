import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { expect } from '@jest/globals';
import ssh2 from 'ssh2';
import { eventually } from './eventually.js';
import { stopAtEnd } from './leftovers.js';

/** A well-behaved client of the library, whose tunnels lead to one port of this machine. */
export class TunnelClient {
  readonly closed: Promise<void>;
  /** What its terminal has shown. */
  shown = '';

  private constructor(readonly client: ssh2.Client) {
    this.closed = new Promise((resolve) => client.once('close', () => resolve()));
  }

  static async logIn(port: number, keyFile: string, target: number, localAddress = '127.0.0.1'): Promise<TunnelClient> {
    // The library can report a failure more than once.
    const client = new ssh2.Client().on('error', () => undefined);
    stopAtEnd(async () => void client.destroy());
    client.on('tcp connection', (_, accept) => {
      const channel = accept();
      const socket = connect({ port: target, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
      channel.on('error', () => socket.destroy());
      socket.on('error', () => channel.close());
      channel.pipe(socket).pipe(channel);
    });
    const ready = new Promise<void>((resolve, reject) => client.once('ready', resolve).once('error', reject));
    const sock = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
    client.connect({ sock, username: 'any', privateKey: readFileSync(keyFile), readyTimeout: 30_000 });
    await ready;
    return new TunnelClient(client);
  }

  /** Returns the port that is bound. */
  bind(address: string, port: number): Promise<number> {
    return new Promise((resolve, reject) =>
      this.client.forwardIn(address, port, (error, bound) => (error ? reject(error) : resolve(bound || port))),
    );
  }

  cancel(address: string, port: number): Promise<void> {
    return new Promise((resolve, reject) =>
      this.client.unforwardIn(address, port, (error) => (error ? reject(error) : resolve())),
    );
  }

  openTerminal(): void {
    this.client.shell(false, (_, channel) => {
      channel
        ?.on('data', () => undefined)
        .stderr.on('data', (data: Buffer) => {
          this.shown += data;
        });
    });
  }

  /** Resolves once its terminal shows this. */
  shows(line: string, patienceMs?: number): Promise<void> {
    return eventually(() => expect(this.shown).toContain(line), patienceMs);
  }

  end(): void {
    this.client.end();
  }
}
