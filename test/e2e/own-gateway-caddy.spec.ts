import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { chromium } from 'playwright-core';
import { networksIn, parseTunnelDomain } from '../../src/rules/index.js';
import { Caddy } from '../support/caddy.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { servePage, serveProgram } from '../support/names.js';
import { OwnGateway } from '../support/own-gateway.js';
import { addAccount } from '../support/principals.js';
import { GATEWAY, type Service, startService } from '../support/service.js';
import { type Login, logIn, newKeyPair } from '../support/ssh-client.js';

/** Names over HTTPS, with a real Caddy between curl or Chromium and the gateway. */
const run = promisify(execFile);
const tunnelDomain = parseTunnelDomain('https://tunnels.example.test');
const LOOPBACK = { host: '127.0.0.1' };
let service: Service;
let trial: OwnGateway;
let caddy: Caddy;
/** Given names of two accounts. */
let names: readonly [string, string];
let logins: readonly Login[];

async function nameOf(client: Service['admin'], text: string) {
  const key = await newKeyPair();
  const { body } = await client.post('/ssh_credentials', { public_key: key.publicKey });
  const { port } = await serveProgram((asked, response) => {
    response.setHeader('set-cookie', `of=${text}; Secure`);
    response.end(`${text} for ${asked.headers['x-forwarded-proto']} ${asked.headers.cookie ?? 'nobody'}`);
  });
  const login = await logIn(trial.port, key, '-R', `localhost:80:127.0.0.1:${port}`);
  expect(login.isOpen).toBe(true);
  return { name: tunnelDomain.givenName(body.id), login };
}

beforeAll(async () => {
  const listen = { ...LOOPBACK, port: await freePort('127.0.0.1') };
  service = await startService({ ...GATEWAY, tunnelDomain });
  const httpProxies = networksIn('127.0.0.1');
  trial = await OwnGateway.startFor(service, service.app.url, { httpListen: listen, httpProxies });
  caddy = await Caddy.start(`${service.app.url}/tls_ask`, `127.0.0.1:${listen.port}`);
  const first = await nameOf(service.admin, 'first');
  const second = await nameOf((await addAccount(service)).client, 'second');
  names = [first.name, second.name];
  logins = [first.login, second.login];
});

/** The status and the text of each URL, over one connection where curl can. The status 0: no TLS. */
async function curl(...hosts: readonly string[]): Promise<readonly string[]> {
  const resolve = hosts.flatMap((host) => ['--resolve', `${host}:${caddy.port}:127.0.0.1`]);
  const urls = hosts.map((host) => `https://${host}:${caddy.port}/`);
  const args = ['-s', '-m', '20', '--cacert', caddy.authority, '-w', ' [%{http_code}]\n', ...resolve, ...urls];
  const { stdout } = await run('curl', args).catch((error: { stdout: string }) => error);
  return stdout
    .split(']\n')
    .slice(0, -1)
    .map((line) => line.trim());
}

describe('through Caddy', () => {
  it('each name has a certificate and its own pages, over one connection too', async () => {
    const answers = await curl(names[0], names[1], names[0]);
    expect(answers).toEqual([
      'first for https nobody [200',
      'second for https nobody [200',
      'first for https nobody [200',
    ]);
  });

  it('HTTP is redirected', async () => {
    const { stdout } = await run('curl', [
      '-s',
      '-o',
      '/dev/null',
      '-w',
      '%{redirect_url}',
      '-H',
      `Host: ${names[0]}`,
      `http://127.0.0.1:${caddy.httpPort}/a`,
    ]);
    expect(stdout).toBe(`https://${names[0]}/a`);
  });

  it('a name that nobody was given has no certificate, also if it is bound', async () => {
    const login = await logIn(
      trial.port,
      await trial.newCredential(),
      '-R',
      `bound.example.test:80:127.0.0.1:${await servePage('bound')}`,
    );
    expect(login.isOpen).toBe(true);
    expect(await curl('bound.example.test')).toEqual(['[000']);
  });

  it('Chromium shows each name its own pages and cookies', async () => {
    const args = ['--no-sandbox', `--host-resolver-rules=MAP *.example.test 127.0.0.1`];
    const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
    stopAtEnd(() => browser.close());
    const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
    const shown: (string | null)[] = [];
    for (const name of [names[0], names[1], names[0], names[1]]) {
      await page.goto(`https://${name}:${caddy.port}/`);
      shown.push(await page.textContent('body'));
    }
    const of = (text: string, cookie: string) => `${text} for https ${cookie}`;
    expect(shown).toEqual([
      of('first', 'nobody'),
      of('second', 'nobody'),
      of('first', 'of=first'),
      of('second', 'of=second'),
    ]);
    await browser.close();
  });

  it('after the end of the tunnel, of Caddy, of the service and of the gateway a name is 404 or 502, and TLS stays', async () => {
    await logins[0]?.close();
    await eventually(async () => expect(await curl(names[0])).toEqual(['Not found\n [404'.trim()]));
    await caddy.stop();
    await caddy.run();
    expect(await curl(names[0], names[1])).toEqual([expect.stringContaining('[404'), 'second for https nobody [200']);
    await service.app.close();
    expect(await curl(names[0], names[1])).toEqual([expect.stringContaining('[404'), 'second for https nobody [200']);
    await trial.gateway.stop();
    expect(await curl(names[0], names[1])).toEqual(['[502', '[502']);
  });
});
