import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { complementOf, exchange } from '../support/echo-target.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { OwnGateway } from '../support/own-gateway.js';
import { spawnCli } from '../support/process.js';
import { ADMIN_KEY } from '../support/service.js';

const HELLO = Buffer.from('hello');
/** What a user confirms once, and nothing of this machine. */
const OPTIONS = ['BatchMode=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'IdentityAgent=none'];

it('the ssh line that an import of frp prints takes the place of frpc: visitors reach its target at the remotePort', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tas-import-'));
  stopAtEnd(() => rm(folder, { recursive: true }));
  const port = await freePort('127.0.0.1');
  const { service, target } = await OwnGateway.start({
    publicAddress: { host: '127.0.0.1', port },
    sshListen: { host: '127.0.0.1', port },
  });
  const remotePort = await freePort('127.0.0.1');
  await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'web')]);
  const proxy = `name = "web"\ntype = "tcp"\nlocalPort = ${target.port}\nremotePort = ${remotePort}\n`;
  await writeFile(join(folder, 'frpc.toml'), `auth.token = "secret"\n[[proxies]]\n${proxy}`);
  const settings = { TUNNEL_ACCESS_URL: service.app.url, TUNNEL_ACCESS_KEY: ADMIN_KEY };
  const words = ['import', 'frp', join(folder, 'frpc.toml'), '--keys', folder, '--edge-ports', '20000-29999', '--yes'];

  let line = '';
  // A gateway reports itself after its start.
  await eventually(async () => {
    line = JSON.parse((await spawnCli(settings, ...words, '--json')).stdout).what;
    expect(line).toBe(`ssh -N -i ${folder}/web -p ${port} -R frp=web:0:127.0.0.1:${target.port} 127.0.0.1`);
  }, 20_000);
  const ssh = spawn('sh', ['-c', line.replace('ssh', `exec ssh -F none -o ${OPTIONS.join(' -o ')}`)], {
    stdio: 'ignore',
  });
  stopAtEnd(async () => void ssh.kill());
  await eventually(async () => {
    expect(await exchange('127.0.0.1', remotePort, HELLO)).toEqual(complementOf(HELLO));
  }, 20_000);
}, 60_000);
