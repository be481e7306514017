import type { Pool } from 'pg';
import type { Ref } from '../database/coalesce.js';
import type { Entity } from '../log/read-model.js';
import { type Part, partOf } from '../resources/changes.js';
import { EntityQueries, type PageRequest } from '../resources/entity-queries.js';
import { MAX_REMOVED_AT_ONCE, type OwnedThings } from '../resources/owned-things.js';
import {
  ACCOUNTS,
  type AccountRow,
  API_KEYS,
  type ApiKeyRow,
  accountStateOf,
  apiKeyStateOf,
  apiKeysReadModel,
  PRINCIPALS,
  type PrincipalRow,
  principalStateOf,
} from './access.read-models.js';
import type { Account } from './accounts/account.js';
import type { Principal } from './accounts/principal.js';
import { type ApiKey, REMOVAL } from './api-keys/api-key.js';

/** Accounts; an account is the only thing with its id on its own log. */
export class Accounts extends EntityQueries<Account, AccountRow> {
  constructor(pool: Pool) {
    super(pool, ACCOUNTS, 'ac', accountStateOf);
  }
}

export class Users extends EntityQueries<Principal, PrincipalRow> {
  constructor(pool: Pool) {
    super(pool, PRINCIPALS, 'usr', principalStateOf, `t.kind = 'user' and not t.deleted`);
  }
}

export class Bots extends EntityQueries<Principal, PrincipalRow> {
  constructor(pool: Pool) {
    super(pool, PRINCIPALS, 'bot', principalStateOf, `t.kind = 'bot' and not t.deleted`);
  }
}

export class ApiKeys extends EntityQueries<ApiKey, ApiKeyRow> implements OwnedThings {
  constructor(pool: Pool) {
    super(pool, API_KEYS, 'ak', apiKeyStateOf);
  }

  /** Of one owner, newest first, one more than a page holds when there are more. */
  listOf(accountId: string, ownerId: string, page: PageRequest): Promise<Entity<ApiKey>[]> {
    const text = `${this.select} where t.account_id = $1 and t.id < $2 and t.owner_id = $4 order by t.id desc limit $3`;
    return this.pageOf({ name: 'ak_page_of_owner', text }, accountId, page, ownerId);
  }

  async removalOf(owner: Ref, occurredAt: Date): Promise<readonly Part[]> {
    const keys = await this.ownedBy(owner, MAX_REMOVED_AT_ONCE);
    return keys.map((key) => partOf(apiKeysReadModel, key, key, [REMOVAL], occurredAt));
  }
}
