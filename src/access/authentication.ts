import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import type { Caller, Role } from '../caller.js';
import { coalesced } from '../database/coalesce.js';
import { queryNamed } from '../database/query.js';
import { Problem } from '../problem.js';
import { hashToken } from './api-key.js';

interface FoundCaller {
  readonly caller: Caller;
  readonly isActive: boolean;
}

interface CallerRow {
  readonly token_hash: string;
  readonly api_key_id: string;
  readonly account_id: string;
  readonly principal_id: string;
  readonly kind: 'user' | 'bot';
  readonly role: Role;
  readonly active: boolean;
}

const CALLERS_BY_TOKENS = {
  name: 'callers_by_tokens',
  text: `select k.token_hash, k.id as api_key_id, k.account_id, p.id as principal_id, p.kind, p.role, p.active
    from api_keys k join principals p on p.account_id = k.account_id and p.id = k.owner_id
    where k.token_hash = any($1)`,
};

/** Longest token that can exist: a bootstrap key of 255 characters. */
const MAX_TOKEN_CHARACTERS = 255;

/** Finds out who calls, by the hash of the API key. Nothing is cached: a revoked key is refused on the next request. */
export class Authentication {
  constructor(private readonly pool: Pool) {}

  private readonly byTokenHash = coalesced<string, FoundCaller>(
    (hash) => hash,
    async (hashes) => {
      const { rows } = await queryNamed<CallerRow>(this.pool, CALLERS_BY_TOKENS, [hashes]);
      return new Map(rows.map((row) => [row.token_hash, toFoundCaller(row)]));
    },
  );

  /** Throws Problem 401 for a missing, malformed or unknown key, 403 when its owner is inactive. Tokens are never echoed. */
  async authenticate(request: FastifyRequest): Promise<Caller> {
    const found = await this.byTokenHash(hashToken(tokenOf(request.headers.authorization)));
    if (found === undefined) throw new Problem('api_key_unknown', 'The API key is unknown or was revoked.');
    if (!found.isActive) throw new Problem('caller_inactive', 'The owner of this API key is not active.');
    return found.caller;
  }
}

const toFoundCaller = (row: CallerRow): FoundCaller => ({
  isActive: row.active,
  caller: {
    accountId: row.account_id,
    principalId: row.principal_id,
    kind: row.kind,
    role: row.role,
    apiKeyId: row.api_key_id,
  },
});

function tokenOf(header: string | undefined): string {
  if (header === undefined || header.trim() === '') {
    throw new Problem('authorization_missing', 'Send an API key in the header "Authorization: Bearer <api key>".');
  }
  const [scheme, token, ...rest] = header.trim().split(/ +/);
  if (scheme?.toLowerCase() !== 'bearer') {
    throw new Problem('authorization_not_bearer', 'The Authorization header must have the form "Bearer <api key>".');
  }
  if (token === undefined || rest.length > 0 || token.length > MAX_TOKEN_CHARACTERS || !/^[\x21-\x7e]+$/.test(token)) {
    throw new Problem('api_key_malformed', 'The API key does not have the form of an API key.');
  }
  return token;
}
