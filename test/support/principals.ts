import { randomBytes } from 'node:crypto';
import { apiKeysReadModel, principalsReadModel } from '../../src/access/access.read-models.js';
import { create as createApiKey, hashToken } from '../../src/access/api-key.js';
import { hasAccounts, type NewAccount, openAccount } from '../../src/access/bootstrap.js';
import { createUser } from '../../src/access/principal.js';
import type { Role } from '../../src/caller.js';
import { EventLog } from '../../src/event-log/event-log.js';
import { Streams } from '../../src/event-log/streams.js';
import { IdSource } from '../../src/ids.js';
import { ApiClient } from './api-client.js';
import type { Service } from './service.js';

export interface TestPrincipal {
  readonly id: string;
  readonly client: ApiClient;
}

const logOf = (service: Service): EventLog => new EventLog(service.pool, () => undefined);

/** Another account on the same deployment, called as its admin. */
export async function addAccount(service: Service): Promise<TestPrincipal & { readonly account: NewAccount }> {
  if (!(await hasAccounts(service.pool))) throw new Error('the first account is missing');
  const account = await openAccount(logOf(service), new IdSource(), {
    name: 'Other',
    adminEmail: 'other@example.test',
    adminKey: undefined,
  });
  return { id: account.adminId, client: new ApiClient(service.app.url, account.adminKey), account };
}

/** Another user of the first account, with a key. */
export async function addUser(service: Service, role: Role): Promise<TestPrincipal> {
  const { rows } = await service.pool.query('select account_id from accounts order by account_id limit 1');
  const accountId: string = rows[0].account_id;
  const streams = new Streams(logOf(service), new IdSource());
  const token = randomBytes(20).toString('hex');
  const id = streams.ids.next('usr');
  const common = { accountId, load: async () => undefined, metadata: { actor: 'system' }, occurredAt: new Date() };
  await streams.change({
    ...common,
    model: principalsReadModel,
    streamId: id,
    decide: () => createUser({ email: `${id}@example.test`, role })(undefined),
  });
  const key = { ownerId: id, description: '', metadata: '', tokenHash: hashToken(token) };
  await streams.change({
    ...common,
    model: apiKeysReadModel,
    streamId: streams.ids.next('ak'),
    decide: () => createApiKey(key)(undefined),
  });
  return { id, client: new ApiClient(service.app.url, token) };
}
