import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { type TestCredential, upload } from './support/decisions.js';
import { newPublicKey } from './support/keys.js';
import { addUser, type TestPrincipal } from './support/principals.js';
import { type RunningMain, startMain, stopMain } from './support/process.js';
import { ADMIN_KEY, GATEWAY, GATEWAY_TOKEN, type Service, startService } from './support/service.js';

/** Two instances of the service on one database. A revocation at one must reach the answers of the other. */
let service: Service;
let second: RunningMain;
let instances: readonly string[];

beforeAll(async () => {
  service = await startService(GATEWAY);
  const settings = { DATABASE_URL: service.databaseUrl, BOOTSTRAP_API_KEY: ADMIN_KEY, LOG_LEVEL: 'error' };
  second = startMain({ ...settings, GATEWAY_TOKENS: GATEWAY_TOKEN });
  instances = [service.app.url, await second.url];
});
afterAll(async () => {
  await stopMain(second);
  await service.stop();
});

const READERS_OF_EACH = 2;
const target = { domain: 'app.example.com' };

interface Seen {
  readonly url: string;
  readonly allowed: boolean;
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** How long an answer from before a revocation may take to arrive through HTTP, with all readers at work. */
const ON_ITS_WAY_MS = 1000;

/** Asks both instances without a pause until `stop`. Notes when each request was sent and when its answer arrived. */
function watch({ fingerprint }: TestCredential): {
  readonly seen: readonly Seen[];
  /** Waits until each instance has answered this many further requests. */
  more: (count: number) => Promise<void>;
  stop: () => Promise<void>;
} {
  const seen: Seen[] = [];
  let stopped = false;
  const reader = async (url: string): Promise<void> => {
    const client = new ApiClient(url, GATEWAY_TOKEN);
    while (!stopped) {
      const askedAt = performance.now();
      const { body } = await client.post('/ssh_gateway/authorize', { fingerprint, target });
      seen.push({ url, allowed: body.allowed, askedAt, answeredAt: performance.now() });
    }
  };
  const readers = instances.flatMap((url) => Array.from({ length: READERS_OF_EACH }, () => reader(url)));
  return {
    seen,
    more: async (count) => {
      const from = performance.now();
      const answered = (url: string) => seen.filter((one) => one.url === url && one.askedAt >= from).length;
      while (!instances.every((url) => answered(url) >= count)) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    stop: async () => {
      stopped = true;
      await Promise.all(readers);
    },
  };
}

describe('once both instances have answered', () => {
  const newCredential = async (): Promise<TestCredential> => {
    const { client } = await addUser(service, 'member');
    return upload(service, client, { public_key: newPublicKey(), acl: ['bind:app.example.com'] });
  };

  it.each([
    ['a DELETE', ({ id }: TestCredential) => service.admin.delete(`/ssh_credentials/${id}`)],
    [
      'a narrowing PATCH',
      ({ id }: TestCredential) => service.admin.patch(`/ssh_credentials/${id}`, { acl: ['bind:web.example.com'] }),
    ],
    [
      'the deactivation of its owner',
      ({ owner_id }: TestCredential) => service.admin.patch(`/users/${owner_id}`, { active: false }),
    ],
    ['the deletion of its owner', ({ owner_id }: TestCredential) => service.admin.delete(`/users/${owner_id}`)],
  ])('after %s no instance permits the target', async (_name, revoke) => {
    const credential = await newCredential();
    const watched = watch(credential);
    await watched.more(5);
    expect((await revoke(credential)).status).toBeLessThan(300);
    const revokedAt = performance.now();
    await watched.more(5);
    await watched.stop();
    expect(watched.seen.slice(0, 5).every(({ allowed }) => allowed)).toBe(true);
    const permitted = watched.seen.filter(({ allowed }) => allowed);
    expect(permitted.filter(({ askedAt }) => askedAt >= revokedAt)).toEqual([]);
    expect(permitted.filter(({ answeredAt }) => answeredAt >= revokedAt + ON_ITS_WAY_MS)).toEqual([]);
    for (const url of instances) {
      const known = [{ credential_id: credential.id, version: 1 }];
      const { body } = await new ApiClient(url, GATEWAY_TOKEN).post('/ssh_gateway/recheck', known);
      expect(body.changed).toHaveLength(1);
    }
  });
});

describe('two instances on one database', () => {
  it('refuse revoked keys and deactivated or deleted principals on the next request', async () => {
    const onBoth = async ({ client }: TestPrincipal): Promise<number[]> => {
      const calls = instances.map((url) => client.get(`${url}/ssh_credentials`));
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
  });
});
