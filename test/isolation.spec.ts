import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Answer, ApiClient } from './support/api-client.js';
import { type Player, playerOf, read, sampleOf, step } from './support/histories.js';
import { addAccount } from './support/principals.js';
import { type Service, startService } from './support/service.js';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** Keeps every answer, as the account that is called saw it. */
class RecordingClient extends ApiClient {
  readonly answers: string[] = [];

  override async send(...call: Parameters<ApiClient['send']>): Promise<Answer> {
    const answer = await super.send(...call);
    const text = JSON.stringify([answer.status, [...answer.headers], answer.body]);
    // A refusal may name what the caller itself has sent.
    const sent = answer.status >= 400 ? (JSON.stringify(call).match(/\b[a-z]+_[0-9A-Za-z]{27}\b/g) ?? []) : [];
    this.answers.push(sent.reduce((rest, id) => rest.replaceAll(id, '(echo)'), text));
    return answer;
  }
}

/** One account at work, which also tries the ids of the others. */
interface Tenant {
  readonly client: RecordingClient;
  readonly player: Player;
  readonly accountId: string;
}

const MARKS = ['aardvark', 'bumblebee', 'chameleon'];

async function addTenants(): Promise<Tenant[]> {
  const tenants: Tenant[] = [];
  for (const mark of MARKS) {
    const { client, accountId } = await addAccount(service);
    const recording = new RecordingClient(client.url, client.token);
    const foreign: Player['foreign'] = (path) =>
      tenants.filter((one) => one.player.mark !== mark).flatMap(({ player }) => player.made[path].slice(-3));
    tenants.push({ client: recording, player: playerOf(recording, mark, foreign), accountId });
  }
  return tenants;
}

describe('three accounts at work at the same time', () => {
  it('do not see each other in any answer, list, error or header', async () => {
    const tenants = await addTenants();
    const work = async ({ player }: Tenant): Promise<void> => {
      for (const act of sampleOf(fc.oneof(step, read), 150)) await act(player);
    };
    await Promise.all(tenants.map(work));

    for (const { client, player, accountId } of tenants) {
      const seen = client.answers.join('\n');
      expect(seen).toContain(player.mark);
      // Ids of the others were tried.
      expect(client.answers.filter((answer) => answer.startsWith('[404')).length).toBeGreaterThan(5);
      for (const other of tenants.filter((one) => one.accountId !== accountId)) {
        expect(seen).not.toContain(other.player.mark);
        expect(seen).not.toContain(other.accountId);
        const ids = Object.values(other.player.made).flat();
        // It makes about 25 at random.
        expect(ids.length).toBeGreaterThan(2);
        expect(ids.filter((id) => seen.includes(id))).toEqual([]);
      }
    }
    const { rows } = await service.pool.query(
      `select account_id, substring(data from 'aardvark|bumblebee|chameleon') as mark from events
       where data ~ 'aardvark|bumblebee|chameleon' group by 1, 2 order by 2`,
    );
    expect(rows).toEqual(tenants.map(({ accountId, player }) => ({ account_id: accountId, mark: player.mark })));
  });
});
