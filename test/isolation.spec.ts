import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Answer, ApiClient } from './support/api-client.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { startMain, stopMain } from './support/process.js';
import { ADMIN_KEY, type Service, startService } from './support/service.js';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** One account at work. Every text that it writes has its mark, and it keeps every answer. */
class Tenant {
  readonly answers: string[] = [];
  readonly ids: string[] = [];

  constructor(
    readonly mark: string,
    private readonly client: ApiClient,
    readonly accountId: string,
  ) {}

  /** The account's mark, which no other account may see. */
  private text = (): string => `${this.mark} ${Math.random().toString(36).slice(2)}`;
  private pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(Math.random() * list.length)];

  /** Sends one random call; it may have an id of another account. */
  async act(foreignIds: readonly string[]): Promise<void> {
    const own = this.pick(this.ids);
    const foreign = this.pick(foreignIds);
    const acts: (() => Promise<Answer>)[] = [
      () => this.client.post('/ssh_credentials', { public_key: newPublicKey(), description: this.text() }),
      () => this.client.post('/edges/tcp', { hostports: ['shared.example.test:443'], metadata: this.text() }),
      () => this.client.post('/bot_users', { name: this.text() }),
      () => this.client.post('/api_keys', { description: this.text() }),
      () => this.client.post('/users', { email: `${this.text().replaceAll(' ', '.')}@example.test` }),
      () => this.client.get('/ssh_credentials?limit=5'),
      () => this.client.get('/edges/tcp'),
      () => this.client.get('/users'),
      () => this.client.get('/bot_users'),
      () => this.client.get('/api_keys'),
      () => this.client.get(`/ssh_credentials?before_id=${foreign}`),
      () => this.client.post('/ssh_credentials', { public_key: 'broken', owner_id: foreign }),
      () => this.client.post('/api_keys', { owner_id: foreign }),
      ...[own, foreign].flatMap((id) => {
        const path = `${pathOf(id ?? '')}/${id}`;
        return [
          () => this.client.get(path),
          () => this.client.patch(path, { description: this.text(), metadata: this.text() }),
          () => this.client.delete(path),
        ];
      }),
    ];
    const answer = await (this.pick(acts) ?? acts[0])?.();
    if (answer === undefined) return;
    const text = JSON.stringify([answer.status, [...answer.headers], answer.body]);
    // A refusal may name what the caller itself has sent.
    this.answers.push(answer.status >= 400 ? text.replaceAll(foreign ?? '-', '(echo)') : text);
    if (answer.status === 201) this.ids.push(answer.body.id);
  }
}

const PATHS: Record<string, string> = {
  sshcr: '/ssh_credentials',
  edgtcp: '/edges/tcp',
  usr: '/users',
  bot: '/bot_users',
  ak: '/api_keys',
};
const pathOf = (id: string): string => PATHS[id.split('_')[0] ?? ''] ?? '/nowhere';

describe('three accounts at work at the same time', () => {
  it('do not see each other in any answer, list, error or header', async () => {
    const tenants = await Promise.all(
      ['aardvark', 'bumblebee', 'chameleon'].map(async (mark) => {
        const { client, accountId } = await addAccount(service);
        return new Tenant(mark, client, accountId);
      }),
    );
    const work = async (tenant: Tenant): Promise<void> => {
      for (let n = 0; n < 150; n += 1) {
        await tenant.act(tenants.filter((t) => t !== tenant).flatMap((t) => t.ids));
      }
    };
    await Promise.all(tenants.map(work));

    for (const tenant of tenants) {
      const seen = tenant.answers.join('\n');
      expect(seen).toContain(tenant.mark);
      for (const other of tenants.filter((t) => t !== tenant)) {
        expect(seen).not.toContain(other.mark);
        expect(seen).not.toContain(other.accountId);
        expect(other.ids.filter((id) => seen.includes(id))).toEqual([]);
      }
    }
    const { rows } = await service.pool.query(
      `select account_id, substring(data from 'aardvark|bumblebee|chameleon') as mark from events
       where data ~ 'aardvark|bumblebee|chameleon' group by 1, 2 order by 2`,
    );
    expect(rows).toEqual(tenants.map(({ accountId, mark }) => ({ account_id: accountId, mark })));
  });
});

describe('two instances on one database', () => {
  it('refuse revoked keys and deactivated or deleted principals on the next request', async () => {
    const second = startMain({ DATABASE_URL: service.databaseUrl, BOOTSTRAP_API_KEY: ADMIN_KEY, LOG_LEVEL: 'error' });
    const secondUrl = await second.url;
    const onBoth = async ({ client }: TestPrincipal): Promise<number[]> => {
      const calls = [service.app.url, secondUrl].map((url) => client.get(`${url}/ssh_credentials`));
      return (await Promise.all(calls)).map((a) => a.status);
    };
    const [revoked, inactive, deleted] = await Promise.all([1, 2, 3].map(() => addUser(service, 'member')));
    if (revoked === undefined || inactive === undefined || deleted === undefined) throw new Error('no users');
    expect([await onBoth(revoked), await onBoth(inactive), await onBoth(deleted)]).toEqual([
      [200, 200],
      [200, 200],
      [200, 200],
    ]);

    await service.admin.delete(`/api_keys/${revoked.keyId}`);
    expect(await onBoth(revoked)).toEqual([401, 401]);
    await service.admin.patch(`/users/${inactive.id}`, { active: false });
    expect(await onBoth(inactive)).toEqual([403, 403]);
    await service.admin.patch(`/users/${inactive.id}`, { active: true });
    expect(await onBoth(inactive)).toEqual([200, 200]);
    await service.admin.delete(`/users/${deleted.id}`);
    expect(await onBoth(deleted)).toEqual([401, 401]);
    await stopMain(second);
  });
});
