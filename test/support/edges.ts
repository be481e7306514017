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
  const group: string = (await client.create('/backends/tunnel_group', { labels })).id;
  const edge = { hostports: [hostport], backend: { backend_id: group }, ...modules };
  const id: string = (await client.create('/edges/tcp', edge)).id;
  return { id, path: `/edges/tcp/${id}`, group, port, hostport };
}
