import { expect, it } from '@jest/globals';
import type { ServiceClient } from '../service-client.js';
import { EdgesOfService } from './edges-of-service.js';

it('the service is asked about a client with all that the gateway says of it', async () => {
  const asked: URLSearchParams[] = [];
  const ask = async (_: string, path: string) => {
    asked.push(new URLSearchParams(path.replace('edges?', '')));
    return { edges: [{ edge: { id: 'edgtcp_1' }, check: { allowed: true } }] };
  };
  const service = new EdgesOfService({ ask } as unknown as ServiceClient);
  const client = {
    source: '192.0.2.7:5000',
    destination: '[2001:db8::2]:20000',
    started_at: '2026-03-04T09:30:15.000Z',
  };
  expect(await service.check('a.test:1', 'edgtcp_1', client)).toEqual({ allowed: true });
  expect(await service.check('a.test:1', 'edgtcp_2', { source: '192.0.2.7' })).toBeUndefined();
  expect(asked.map((query) => Object.fromEntries(query))).toEqual([
    { hostport: 'a.test:1', ...client },
    { hostport: 'a.test:1', source: '192.0.2.7' },
  ]);
});
