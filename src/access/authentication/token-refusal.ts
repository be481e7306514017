import { errors } from 'jose';
import { Problem } from '../../problem.js';

/** What is wrong with a token, by the claim that does not hold. */
const WRONG_CLAIMS = new Map([
  ['iss', 'The token is from another issuer (iss).'],
  ['aud', 'The token is for another audience (aud).'],
  ['exp', 'The token has no valid time of expiry (exp).'],
  ['nbf', 'The token is not valid yet (nbf).'],
  ['iat', 'The token is not valid yet (iat).'],
]);

/**
 * What a token that jose refuses is answered; whatever else was thrown is given back as it was. Says what is wrong, so that
 * an honest caller can put it right, and repeats nothing of the token.
 */
export function refusalOf(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return unknown('The token has expired (exp).');
  if (error instanceof errors.JWTClaimValidationFailed) {
    return unknown(WRONG_CLAIMS.get(error.claim) ?? 'A claim of the token does not hold.');
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return unknown('The token is signed with an algorithm that is not taken here (alg).');
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return unknown('The token does not say which of its issuer’s keys signed it (kid).');
  }
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed) {
    return unknown('The token is not signed by a key of the issuer.');
  }
  if (error instanceof errors.JOSEError) return new Problem('api_key_malformed', 'The token is not a valid JWT.');
  return error;
}

const unknown = (message: string): Problem => new Problem('api_key_unknown', message);
