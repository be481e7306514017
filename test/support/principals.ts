import { createAccount } from '../../src/api/access/accounts/new-account.js';
import { EventLog } from '../../src/event-log/append/event-log.js';
import type { Role } from '../../src/kernel/caller.js';
import { IdSource } from '../../src/kernel/ids.js';
import { ApiClient } from './api-client.js';
import type { Service } from './service.js';

export interface TestPrincipal {
  readonly id: string;
  readonly accountId: string;
  readonly client: ApiClient;
  readonly keyId: string;
}

interface ServiceAt {
  readonly pool: Service['pool'];
  readonly app: { readonly url: string };
}

let accounts = 0;
let principals = 0;

/** Another account on the same deployment, called as its admin. */
export async function addAccount(service: ServiceAt): Promise<TestPrincipal> {
  accounts += 1;
  const log = new EventLog(service.pool, () => undefined);
  const { accountId, adminId, adminKey } = await createAccount(log, new IdSource(), {
    name: `Other ${accounts}`,
    adminEmail: 'admin@example.test',
    adminKey: undefined,
  });
  const client = new ApiClient(service.app.url, adminKey);
  const { body } = await client.get('/api_keys');
  return { id: adminId, accountId, client, keyId: body.keys[0].id };
}

/** Another user with a key, created by an admin. */
export async function addUser(service: Service, role: Role, admin = service.admin): Promise<TestPrincipal> {
  principals += 1;
  const { body } = await admin.post('/users', { email: `user-${principals}@example.test`, role });
  return withKey(service, admin, body.id);
}

/** A bot with a key, created by an admin. */
export async function addBot(service: Service, admin = service.admin): Promise<TestPrincipal> {
  principals += 1;
  const { body } = await admin.post('/bot_users', { name: `bot ${principals}` });
  return withKey(service, admin, body.id);
}

async function withKey(service: Service, admin: ApiClient, id: string): Promise<TestPrincipal> {
  const { body } = await admin.post('/api_keys', { owner_id: id });
  const { rows } = await service.pool.query('select account_id from principals where id = $1', [id]);
  return { id, accountId: rows[0].account_id, client: new ApiClient(service.app.url, body.token), keyId: body.id };
}
