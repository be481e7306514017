import { expect } from '@jest/globals';
import type { ApiClient } from './api-client.js';
import { freePort } from './free-port.js';

/** An edge of this account to its tunnels with these labels, at a port of this machine. */
export async function edgeTo(
  client: ApiClient,
  labels: Readonly<Record<string, string>>,
  modules: object = {},
  at?: number,
) {
  const port = at ?? (await freePort('127.0.0.1'));
  const hostport = `127.0.0.1:${port}`;
  const { body: group } = await client.post('/backends/tunnel_group', { labels });
  const edge = { hostports: [hostport], backend: { backend_id: group.id }, ...modules };
  const made = await client.post('/edges/tcp', edge);
  expect(made).toMatchObject({ status: 201 });
  const id: string = made.body.id;
  return { id, path: `/edges/tcp/${id}`, group: group.id as string, port, hostport };
}
