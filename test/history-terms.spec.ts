import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { history, PATHS, type Player, play, playerOf } from './support/histories.js';
import { addAccount } from './support/principals.js';
import { type Service, startService } from './support/service.js';

interface Change {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

type Fields = Record<string, unknown>;

let service: Service;
let player: Player;
beforeAll(async () => {
  service = await startService();
  player = playerOf((await addAccount(service)).client);
});
afterAll(() => service.stop());

/** The fields that the changes of a history lead to. Each change must begin where the one before it ended. */
function foldOf(events: readonly { readonly changes: readonly Change[] }[]): Fields {
  const fields: Fields = {};
  for (const { field, from, to } of events.flatMap(({ changes }) => changes)) {
    expect({ field, value: from }).toEqual({ field, value: fields[field] ?? null });
    fields[field] = to;
  }
  return fields;
}

const withoutNulls = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** The parts of a resource that have paths of their own. */
async function partsOf(path: string): Promise<Fields> {
  const bodyOf = async (part: string): Promise<Fields | undefined> => {
    const { status, body } = await player.client.get(`${path}/${part}`);
    return status === 200 ? body : undefined;
  };
  if (path.startsWith('/bot_users/')) return { ...(await bodyOf('role')) };
  if (path.startsWith('/api_keys/')) return { ...(await bodyOf('expiry')) };
  if (!path.startsWith('/ssh_credentials/')) return {};
  return { ...(await bodyOf('expiry')), source_restriction: (await bodyOf('source_restriction')) ?? null };
}

describe('a history has the terms of the API', () => {
  it('after any changes of any resource: its changes lead to exactly what GET shows', async () => {
    const [steps = []] = fc.sample(fc.array(history, { minLength: 3, maxLength: 3 }), 1);
    await play(player, steps.flat());
    const compared = new Set<string>();
    for (const path of PATHS) {
      for (const id of player.made[path]) {
        const { body } = await player.client.get(`${path}/${id}/events`);
        const last = body.events.at(-1);
        const got = await player.client.get(`${path}/${id}`);
        if (got.status === 404) {
          expect([last.type, last.changes]).toEqual([expect.stringMatching(/_deleted\.v1$/), []]);
          continue;
        }
        // The history has the networks once, as the source restriction.
        const { id: _, uri, created_at, source_cidrs: _n, ...fields } = got.body;
        const parts = await partsOf(`${path}/${id}`);
        // The history alone says what a rotation has made of what.
        const { rotated_from: _f, rotated_to: _t, ...told } = foldOf(body.events);
        expect(withoutNulls(told)).toEqual(withoutNulls({ ...fields, ...parts }));
        compared.add(path);
      }
    }
    expect(compared.size).toBeGreaterThan(1);
  });

  it('hostports and modules as GET shows them, without the canonical form and the claims of strict mode', async () => {
    const { client } = player;
    const { body: edge } = await client.post('/edges/tcp', { hostports: ['A.example.test:1'] });
    await client.put(`/edges/tcp/${edge.id}/backend`, { backend_id: 'bkdhr_1' });
    const { body } = await client.get(`/edges/tcp/${edge.id}/events`);
    const backend = { id: 'bkdhr_1', uri: `${service.app.url}/backends/http_response/bkdhr_1` };
    expect(body.events.map(({ changes }: { changes: Change[] }) => changes)).toEqual([
      [
        { field: 'description', from: null, to: '' },
        { field: 'metadata', from: null, to: '' },
        { field: 'hostports', from: null, to: ['A.example.test:1'] },
      ],
      [{ field: 'backend', from: null, to: { enabled: true, backend } }],
    ]);
  });

  it('a deleted user or bot changes no field, although its row remains', async () => {
    const { client } = player;
    const { body: bot } = await client.post('/bot_users', { name: 'short-lived' });
    await client.delete(`/bot_users/${bot.id}`);
    const { body } = await client.get(`/bot_users/${bot.id}/events`);
    expect(body.events.map(({ changes }: { changes: Change[] }) => changes)).toEqual([
      [
        { field: 'name', from: null, to: 'short-lived' },
        { field: 'active', from: null, to: true },
        { field: 'role', from: null, to: 'member' },
      ],
      [],
    ]);
  });
});
