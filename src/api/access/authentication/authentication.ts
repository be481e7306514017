import { Logger } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { coalesced, onPrimary, queryNamed } from '../../../database/index.js';
import type { Caller, Gateway } from '../../../kernel/caller.js';
import { Problem } from '../../../kernel/problem.js';
import { sourceOf } from '../../../rules/index.js';
import { Authenticator } from '../../http/authenticator.js';
import { isSafeMethod } from '../../http/preconditions.js';
import { ipOf } from '../../http/request-context.js';
import { refuseUnlessMayChange, unknownEnrollmentKey } from '../../resources/access-rules.js';
import { hashToken } from '../api-keys/api-key.js';
import type { DeploymentTokens } from './deployment-tokens.js';
import type { FailureLimit } from './failure-limit.js';
import { isJwt, type Oidc } from './oidc.js';

interface FoundCaller {
  readonly caller: Caller;
  readonly isActive: boolean;
  readonly isExpired: boolean;
}

type CallerRow = Omit<Caller, 'rightsPosition'> & {
  readonly hash: string;
  readonly isActive: boolean;
  readonly isExpired: boolean;
  readonly rightsPosition: number | null;
};

/**
 * Key, principal and head are of one snapshot, and the database's clock alone says whether the key has expired. Only a
 * change needs the head, for its check of rights.
 */
const CALLERS_BY_TOKENS = onPrimary({
  name: 'callers_by_tokens',
  text: `select k.token_hash as hash, k.id as "apiKeyId", k.account_id as "accountId", p.id as "principalId", p.kind, p.role,
      p.active as "isActive", coalesce(k.expires_at <= statement_timestamp(), false) as "isExpired", case when $2::boolean then
        (select h.rights_position::float8 from log_heads h where h.account_id = k.account_id) end as "rightsPosition"
    from unnest($1::text[]) as wanted(hash)
    cross join lateral (select * from api_keys k where k.token_hash = wanted.hash limit 1) k
    cross join lateral (select * from principals p where p.account_id = k.account_id and p.id = k.owner_id limit 1) p`,
});

/**
 * The same of an enrollment key, which is no API key: it opens one route. It is the principal of what it does, as a member
 * who owns nothing.
 */
const ENROLLERS_BY_TOKENS = onPrimary({
  name: 'enrollers_by_tokens',
  text: `select k.token_hash as hash, k.account_id as "accountId", k.id as "principalId", 'bot' as kind, 'member' as role,
      true as "isActive", coalesce(k.expires_at <= statement_timestamp(), false) as "isExpired", case when $2::boolean then
        (select h.rights_position::float8 from log_heads h where h.account_id = k.account_id) end as "rightsPosition"
    from unnest($1::text[]) as wanted(hash)
    cross join lateral (select * from enrollment_keys k where k.token_hash = wanted.hash limit 1) k`,
});

/** The programs of the deployment, by the name that messages give their tokens. */
interface Programs {
  readonly 'gateway token': Gateway;
  readonly 'metrics token': object;
}

type TokensOfDeployment = { readonly [Token in keyof Programs]: DeploymentTokens<Programs[Token]> };

/** The longest API key is a bootstrap key of 255 characters; a gateway token has the same maximum. */
const MAX_TOKEN_CHARACTERS = 255;

/**
 * Authenticates callers by the hash of their API key or, if configured, by a token of the OpenID Connect issuer.
 * Each request looks its key up, so a revoked or expired key fails on the next one.
 */
export class Authentication extends Authenticator {
  private readonly logger = new Logger('Authentication');

  constructor(
    private readonly pool: Pool,
    private readonly failures: FailureLimit,
    private readonly oidc: Oidc | undefined,
    private readonly deploymentTokens: TokensOfDeployment,
  ) {
    super();
  }

  private readonly forRead = coalesced((tokens) => this.callersBy(CALLERS_BY_TOKENS, tokens, { isChange: false }));
  private readonly forChange = coalesced((tokens) => this.callersBy(CALLERS_BY_TOKENS, tokens, { isChange: true }));
  private readonly forEnrollment = coalesced((tokens) =>
    this.callersBy(ENROLLERS_BY_TOKENS, tokens, { isChange: true }),
  );

  /** Only hashes of the tokens go to the database. */
  private async callersBy(
    statement: typeof CALLERS_BY_TOKENS,
    tokens: readonly string[],
    { isChange }: { readonly isChange: boolean },
  ): Promise<ReadonlyMap<string, FoundCaller | undefined>> {
    const hashes = tokens.map(hashToken);
    const { rows } = await queryNamed<CallerRow>(this.pool, statement, [hashes, isChange]);
    const callers = new Map(rows.map((row) => [row.hash, toFoundCaller(row)]));
    return new Map(tokens.map((token, n) => [token, callers.get(hashes[n] ?? '')]));
  }

  /**
   * Throws Problem: 401 for a missing, malformed, unknown or expired key, 403 if its owner is inactive or an auditor who
   * would change something, 429 instead of 401 if the source failed too often. Messages never quote a token.
   */
  authenticate(request: FastifyRequest): Promise<Caller> {
    return this.attempt(request, async () => {
      const caller = await this.callerOf(request);
      if (isClosedToAuditors(request)) refuseUnlessMayChange(caller);
      return caller;
    });
  }

  async authenticateGateway(request: FastifyRequest): Promise<Gateway> {
    return this.authenticateProgram(request, 'gateway token');
  }

  async authenticateMetrics(request: FastifyRequest): Promise<void> {
    await this.authenticateProgram(request, 'metrics token');
  }

  /**
   * Throws the same for a program of the deployment. Its token is not an API key, and an API key is not such a token.
   */
  private authenticateProgram<Token extends keyof Programs>(
    request: FastifyRequest,
    expected: Token,
  ): Promise<Programs[Token]> {
    return this.attempt(request, async () => {
      const token = tokenOf(request.headers.authorization, expected);
      refuseTooLong(token, expected);
      const program = this.deploymentTokens[expected].find(token);
      if (program === undefined) throw new Problem('api_key_unknown', `The ${expected} is not one of this deployment.`);
      return program;
    });
  }

  private attempt<Authenticated>(
    request: FastifyRequest,
    authenticate: () => Promise<Authenticated>,
  ): Promise<Authenticated> {
    return authenticate().catch((error: unknown) => {
      throw isFailedAttempt(error) ? this.countFailure(error, request) : error;
    });
  }

  async isStillAuthorized(request: FastifyRequest, { accountId, principalId, role }: Caller): Promise<boolean> {
    try {
      const now = await this.callerOf(request, false);
      return now.accountId === accountId && now.principalId === principalId && now.role === role;
    } catch (error) {
      return !(error instanceof Problem && error.status < 500);
    }
  }

  private async enrollerOf(request: FastifyRequest): Promise<Caller> {
    const token = tokenOf(request.headers.authorization, 'enrollment key');
    refuseTooLong(token, 'enrollment key');
    const found = await this.forEnrollment(token);
    if (found === undefined) throw unknownEnrollmentKey();
    if (!found.isExpired) return found.caller;
    throw new Problem('api_key_unknown', 'The enrollment key has expired; ask for another one.');
  }

  /** `mayCreate`: whether a first sign-in by OpenID Connect may create its user. */
  private async callerOf(request: FastifyRequest, mayCreate = true): Promise<Caller> {
    if (request.routeOptions.config.isForEnrollment === true) return this.enrollerOf(request);
    const token = tokenOf(request.headers.authorization);
    if (this.oidc !== undefined && isJwt(token)) return this.oidc.authenticate(token, request, mayCreate);
    refuseTooLong(token, 'API key');
    const find = isSafeMethod(request.method) ? this.forRead : this.forChange;
    const found = await find(token);
    if (found === undefined) throw new Problem('api_key_unknown', 'The API key is unknown or was revoked.');
    if (found.isExpired) throw new Problem('api_key_unknown', 'The API key has expired.');
    if (!found.isActive) throw new Problem('caller_inactive', 'The owner of this API key is not active.');
    return found.caller;
  }

  /**
   * Counts a failure and returns its answer: the failure itself, or 429 beyond the limit. The key was looked up before,
   * so that a valid key goes on to work behind the same NAT: a caller cannot lock out a neighbour.
   */
  private countFailure(failure: Problem, request: FastifyRequest): Problem {
    const source = sourceOf(ipOf(request));
    const excess = this.failures.count(source);
    if (excess === undefined) return failure;
    const limit = `more than ${this.failures.maxPerMinute} failed authentications in a minute`;
    const { retryAfterSeconds, isFirst } = excess;
    // One line for each window, without the token: a guess may be a real key with a typing error.
    if (isFirst) this.logger.warn(`${limit} from ${source}; its failures answer 429 for ${retryAfterSeconds} s`);
    const advice = `A valid key still works; try any other key again in ${retryAfterSeconds} s.`;
    return new Problem('too_many_requests', `There were ${limit} from your address. ${advice}`, {}, retryAfterSeconds);
  }
}

/** A route is closed to auditors unless it is a GET or declares that it only reads, so a new route is closed too. */
const isClosedToAuditors = ({ method, routeOptions }: FastifyRequest): boolean =>
  !isSafeMethod(method) && routeOptions.config.onlyReads !== true;

/** Whether an error answers an attempt to guess a key. A request without credentials is a mistake, not an attempt. */
const isFailedAttempt = (error: unknown): error is Problem =>
  error instanceof Problem && error.status === 401 && error.problem !== 'authorization_missing';

const toFoundCaller = ({ hash: _, isActive, isExpired, rightsPosition, ...caller }: CallerRow): FoundCaller => ({
  isActive,
  isExpired,
  caller: rightsPosition === null ? caller : { ...caller, rightsPosition },
});

/** The kind of token that a route needs; messages name it, so that the reader looks at the right one. */
type Credential = 'API key' | 'enrollment key' | keyof Programs;

const BEARER = /^bearer +([\x21-\x7e]+)$/i;

function tokenOf(header = '', credential: Credential = 'API key'): string {
  const token = BEARER.exec(header.trim())?.[1];
  if (token === undefined) throw unusableHeader(header.trim(), credential);
  if (/^(["'`<]).*["'`>]$/.test(token)) {
    throw new Problem('api_key_malformed', `The ${credential} is in quotes or brackets; send it without them.`);
  }
  return token;
}

function unusableHeader(header: string, credential: Credential): Problem {
  const form = `Bearer <${credential.toLowerCase()}>"`;
  if (header === '') {
    const message = `Send ${withArticle(credential)} in the header "Authorization: ${form}.`;
    return new Problem('authorization_missing', message);
  }
  if (!/^bearer( |$)/i.test(header)) {
    return new Problem('authorization_not_bearer', `The Authorization header must have the form "${form}.`);
  }
  // Most often a variable of a shell that is not set. Other headers with this scheme hold blanks within the secret.
  if (/^bearer *$/i.test(header)) {
    return new Problem('api_key_malformed', `The ${credential} is empty: the header ends after "Bearer".`);
  }
  return malformedCredential(credential);
}

function refuseTooLong(token: string, credential: Credential): void {
  if (token.length > MAX_TOKEN_CHARACTERS) throw malformedCredential(credential);
}

const malformedCredential = (credential: Credential): Problem =>
  new Problem('api_key_malformed', `The ${credential} does not have the form of ${withArticle(credential)}.`);

const withArticle = (credential: Credential): string => `${/^[ae]/i.test(credential) ? 'an' : 'a'} ${credential}`;
