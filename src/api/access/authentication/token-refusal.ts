import { errors } from 'jose';
import { Problem } from '../../../kernel/problem.js';

/** The message for each claim that is not valid. */
const INVALID_CLAIMS = new Map([
  ['iss', 'The token is from another issuer (iss).'],
  ['aud', 'The token is for another audience (aud).'],
  ['exp', 'The token has no valid time of expiry (exp).'],
  ['nbf', 'The token is not valid yet (nbf).'],
  ['iat', 'The token is not valid yet (iat).'],
]);

/**
 * Turns jose's errors into a Problem, and returns any other error unchanged. The message names the defect, so that an
 * honest caller can correct it, and never quotes the token.
 */
export function refusalOf(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return invalidToken('The token has expired (exp).');
  if (error instanceof errors.JWTClaimValidationFailed) {
    return invalidToken(INVALID_CLAIMS.get(error.claim) ?? 'A claim of the token is not valid.');
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return invalidToken('The token is signed with an algorithm that this service does not accept (alg).');
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return invalidToken('The token does not say which of its issuer’s keys signed it (kid).');
  }
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed) {
    return invalidToken('The token is not signed by a key of the issuer.');
  }
  if (error instanceof errors.JOSEError) return new Problem('api_key_malformed', 'The token is not a valid JWT.');
  return error;
}

const invalidToken = (message: string): Problem => new Problem('api_key_unknown', message);
