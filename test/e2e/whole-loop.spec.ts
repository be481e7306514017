import { createServer } from 'node:http';
import { type AddressInfo, createConnection } from 'node:net';
import { expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { OwnGateway } from '../support/own-gateway.js';
import { logIn, newKeyPair } from '../support/ssh-client.js';

it('from a posted key over a tunnel to a page that is fetched through an edge, and no further than its rules', async () => {
  const { service, port } = await OwnGateway.start();
  const post = async (path: string, body: object): Promise<string> => (await service.admin.post(path, body)).body.id;

  // A page on the user's machine.
  const site = createServer((_, response) => response.end('a page behind the tunnel')).listen(0, '127.0.0.1');
  stopAtEnd(async () => void site.close());

  // The key may bind one label.
  const key = await newKeyPair();
  await post('/ssh_credentials', { public_key: key.publicKey, acl: ['bind:team=blue'] });

  // The edge serves a hostport of the gateway. It lets this machine in, and has the tunnels of the label behind it.
  const policy = await post('/ip_policies', {});
  const rule = await post('/ip_policy_rules', { ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'allow' });
  const group = await post('/backends/tunnel_group', { labels: { team: 'blue' } });
  const hostport = `localhost:${await freePort('127.0.0.1')}`;
  await post('/edges/tcp', {
    hostports: [hostport],
    backend: { backend_id: group },
    ip_restriction: { ip_policy_ids: [policy] },
  });

  const tunnel = await logIn(port, key, '-R', `team=blue:0:127.0.0.1:${(site.address() as AddressInfo).port}`);
  expect(tunnel.isOpen ? 'open' : tunnel.output()).toBe('open');
  // Within a second of its creation the edge is served.
  await eventually(async () => {
    const page = await fetch(`http://${hostport}/`, { headers: { connection: 'close' } });
    expect(await page.text()).toBe('a page behind the tunnel');
  });

  // Within a second the edge lets this machine in no more, and ends what is open.
  const open = createConnection({ host: '127.0.0.1', port: Number(hostport.split(':')[1]) });
  const ended = new Promise((resolve) => open.on('error', resolve).once('close', resolve));
  await service.admin.delete(`/ip_policy_rules/${rule}`);
  await ended;
  await expect(fetch(`http://${hostport}/`)).rejects.toThrow();
});
