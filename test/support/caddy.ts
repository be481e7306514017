import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { textOf } from './documents.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { stopAtEnd } from './leftovers.js';

/** A real Caddy with the Caddyfile of docs/http-by-name, with its own authority in place of a public one. */
export class Caddy {
  private end: () => Promise<void> = async () => undefined;

  private constructor(
    readonly port: number,
    readonly httpPort: number,
    private readonly folder: string,
    private readonly environment: NodeJS.ProcessEnv,
  ) {}

  /** `ask`: the URL that says for which names there are certificates. `upstream`: host and port behind Caddy. */
  static async start(ask: string, upstream: string): Promise<Caddy> {
    const folder = await mkdtemp(join(tmpdir(), 'tas-caddy-'));
    stopAtEnd(() => rm(folder, { recursive: true, force: true }));
    const [port, httpPort] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')];
    const options = `local_certs\nskip_install_trust\nadmin off\nhttps_port ${port}\nhttp_port ${httpPort}\n`;
    const text = textOf('docs/http-by-name/Caddyfile').replace(/^\{\n/m, `{\n${options}`);
    await writeFile(join(folder, 'Caddyfile'), text);
    const { PATH } = process.env;
    const environment = { PATH, HOME: folder, XDG_DATA_HOME: folder, TLS_ASK: ask, GATEWAY_HTTP: upstream };
    const caddy = new Caddy(port, httpPort, folder, environment);
    stopAtEnd(() => caddy.stop());
    await caddy.run();
    return caddy;
  }

  /** The certificate of its authority. */
  get authority(): string {
    return join(this.folder, 'caddy/pki/authorities/local/root.crt');
  }

  /** It keeps its certificates. */
  async run(): Promise<void> {
    const args = ['run', '--config', join(this.folder, 'Caddyfile'), '--adapter', 'caddyfile'];
    const child = spawn('caddy', args, { stdio: 'ignore', env: this.environment });
    const ended = once(child, 'close');
    this.end = async () => {
      child.kill('SIGKILL');
      await ended;
    };
    await eventually(async () => {
      const socket = connect(this.port, '127.0.0.1');
      await once(socket, 'connect');
      socket.destroy();
    });
  }

  stop(): Promise<void> {
    return this.end();
  }
}
