import { expect, it } from '@jest/globals';
import type { ServiceClient } from '../service-client.js';
import { EdgesOfService } from './edges-of-service.js';

it('hostports with the same edge share what is served, and one without an edge is closed', async () => {
  const edge = { id: 'edgtcp_1', backend: null, ip_restriction: null, traffic_policy: null };
  const listed = { account_id: 'ac_1', edge, ip_policies: [], tunnel_group: { id: 'bkdtg_1', labels: { a: 'b' } } };
  const hostports = ['a:1', 'a:2'].map((hostport) => ({ hostport, edge_id: 'edgtcp_1' }));
  const answer = { edges: [listed], hostports: [...hostports, { hostport: 'a:3', edge_id: null }] };
  const service = new EdgesOfService({ ask: async () => answer } as unknown as ServiceClient, false);
  const told = await service.at(['a:1', 'a:2', 'a:3', 'a:4']);
  expect([...told.keys()]).toEqual(['a:1', 'a:2', 'a:3']);
  expect(told.get('a:1')?.served?.id).toBe('edgtcp_1');
  expect(told.get('a:2')).toBe(told.get('a:1'));
  expect(told.get('a:3')).toMatchObject({ served: undefined });
});
