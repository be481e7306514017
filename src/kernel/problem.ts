import { isId } from './ids.js';

/**
 * Every error that the service answers, by its name in the code, with its HTTP status and public code. `ERR_NGROK_*`
 * are codes of the public API, and `ERR_TAS_*` are our own for errors without a code there (docs/api.md, "Errors").
 */
export const PROBLEMS = {
  authorization_missing: [401, 'ERR_NGROK_200'],
  authorization_not_bearer: [401, 'ERR_NGROK_201'],
  api_key_malformed: [401, 'ERR_NGROK_202'],
  api_key_unknown: [401, 'ERR_NGROK_203'],
  unsupported_content_type: [415, 'ERR_NGROK_210'],
  body_too_large: [413, 'ERR_NGROK_212'],
  body_malformed: [400, 'ERR_NGROK_213'],
  field_unknown: [400, 'ERR_NGROK_214'],
  field_wrong_type: [400, 'ERR_NGROK_215'],
  cursor_malformed: [400, 'ERR_NGROK_223'],
  too_many_requests: [429, 'ERR_NGROK_226'],
  ip_policy_id_invalid: [400, 'ERR_NGROK_229'],
  limit_out_of_range: [400, 'ERR_NGROK_233'],
  backend_id_invalid: [400, 'ERR_NGROK_242'],
  limit_not_a_number: [400, 'ERR_NGROK_244'],
  ip_policy_not_found: [404, 'ERR_NGROK_341'],
  acl_rule_invalid: [400, 'ERR_NGROK_600'],
  ssh_credential_description_too_long: [400, 'ERR_NGROK_604'],
  ssh_credential_metadata_too_long: [400, 'ERR_NGROK_605'],
  public_key_already_used: [409, 'ERR_NGROK_609'],
  public_key_used_elsewhere: [409, 'ERR_NGROK_610'],
  public_key_missing: [400, 'ERR_NGROK_611'],
  public_key_invalid: [400, 'ERR_NGROK_612'],
  owner_not_yours: [403, 'ERR_NGROK_630'],
  role_missing: [403, 'ERR_NGROK_635'],
  owner_inactive: [400, 'ERR_NGROK_636'],
  caller_inactive: [403, 'ERR_NGROK_636'],
  ip_policy_rule_not_found: [404, 'ERR_NGROK_1404'],
  cidr_missing: [400, 'ERR_NGROK_1405'],
  cidr_malformed: [400, 'ERR_NGROK_1406'],
  ip_policy_rule_exists: [409, 'ERR_NGROK_1408'],
  cidr_host_bits: [400, 'ERR_NGROK_1409'],
  ip_policy_unknown: [400, 'ERR_NGROK_1414'],
  ip_policy_rule_description_too_long: [400, 'ERR_NGROK_1421'],
  ip_policy_rule_action_invalid: [400, 'ERR_NGROK_1422'],
  label_key_length: [400, 'ERR_NGROK_6509'],
  label_value_length: [400, 'ERR_NGROK_6510'],
  label_has_equals_sign: [400, 'ERR_NGROK_6531'],
  edge_not_found: [404, 'ERR_NGROK_7000'],
  edge_description_too_long: [400, 'ERR_NGROK_7073'],
  edge_metadata_too_long: [400, 'ERR_NGROK_7074'],
  hostport_malformed: [400, 'ERR_NGROK_7104'],
  hostport_port_out_of_range: [400, 'ERR_NGROK_7112'],
  hostport_already_used: [409, 'ERR_NGROK_7122'],
  request_malformed: [400, 'ERR_TAS_400'],
  gateway_not_yours: [403, 'ERR_TAS_403'],
  not_found: [404, 'ERR_TAS_404'],
  request_timed_out: [408, 'ERR_TAS_408'],
  conflict: [409, 'ERR_TAS_409'],
  event_unreadable: [409, 'ERR_TAS_409'],
  log_tail_lost: [410, 'ERR_TAS_410'],
  precondition_failed: [412, 'ERR_TAS_412'],
  expectation_failed: [417, 'ERR_TAS_417'],
  idempotency_key_reused: [422, 'ERR_TAS_422'],
  headers_too_large: [431, 'ERR_TAS_431'],
  internal: [500, 'ERR_TAS_500'],
  not_implemented: [501, 'ERR_TAS_501'],
  overloaded: [503, 'ERR_TAS_503'],
  http_version_unsupported: [505, 'ERR_TAS_505'],
} as const satisfies Record<string, readonly [status: number, code: `ERR_${string}`]>;

export type ProblemName = keyof typeof PROBLEMS;

/** It must be a flat map of strings, because official clients crash on any other shape. */
export type ProblemDetails = Readonly<Record<string, string>>;

/**
 * An error that the caller sees; one filter turns it into an answer. `message` is public: a sentence with the field,
 * the value (see `quoted`) and the limit, but never a secret and never data of another account.
 */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;

  constructor(
    readonly problem: ProblemName,
    message: string,
    readonly details: ProblemDetails = {},
    /** Retry-After of a 503 or 429; absent: one second. */
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
    this.name = 'Problem';
    [this.status, this.code] = PROBLEMS[problem];
  }
}

/** Refuses a request that is malformed. `sentence` says what is wrong with it. */
export const malformed = (sentence: string): Problem => new Problem('request_malformed', sentence);

/** One less than the length of the shortest secret, a bootstrap key. */
const MAX_WORD = 15;
const MAX_ID = 34;
const PLAIN = /^[\w+.:*=[\]-]{1,64}$/;

/**
 * Whether a message may quote `text`: it is short, is an id, or has only short words between the signs of hosts, times
 * and rules. A longer word may be a secret in the wrong place, such as a part of a private key, a token or an API key.
 */
export const isQuotable = (text: string): boolean =>
  text.length <= MAX_WORD ||
  (text.length <= MAX_ID && isId(text)) ||
  (PLAIN.test(text) && text.split(/[.:*=[\]]/).every((word) => word.length <= MAX_WORD));

/** `text` in single quotes for a message, with control and invisible characters escaped; or only its length. */
export function quoted(text: string): string {
  if (!isQuotable(text)) return `(${text.length} characters, not shown)`;
  const escaped = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
  return `'${escaped}'`;
}
