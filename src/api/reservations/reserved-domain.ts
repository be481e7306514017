import { malformed, Problem, quoted } from '../../kernel/problem.js';
import { canonicalName, ParseError } from '../../rules/index.js';
import { type PlainEvent, plainEntity } from '../resources/plain-entity.js';

/** A name that only one account of the deployment may bind and serve, at every port. */
export interface ReservedDomain {
  readonly description: string;
  readonly metadata: string;
  /** A canonical name, or `*.` and a canonical name of two labels or more: all names under it. */
  readonly domain: string;
  /** The domain as sent. It is what answers show: a client such as Terraform replaces a domain that comes back otherwise. */
  readonly text: string;
  /** As the caller named it; empty if it did not. It means nothing here. */
  readonly region: string;
}

export type ReservedDomainEvent = PlainEvent<'reserved_domain', ReservedDomain>;

/** The same for an unknown id and for an id of another account. */
export const reservedDomainNotFound = (): Problem => new Problem('not_found', 'Resource not found');

export const reservedDomain = plainEntity<'reserved_domain', ReservedDomain>('reserved_domain', reservedDomainNotFound);

/** The longest name, with `*.` before it and a dot after it, in characters of which each takes several bytes. */
const MAX_DOMAIN_BYTES = 1_024;

/** Throws Problem. */
export function parseDomain(text: string | undefined): Pick<ReservedDomain, 'domain' | 'text'> {
  if (text === undefined || text === '') throw malformed("domain is missing; send one such as 'app.example.com'.");
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_DOMAIN_BYTES) throw malformed(`domain is ${bytes} bytes long; the maximum is ${MAX_DOMAIN_BYTES}.`);
  try {
    return { domain: canonicalDomain(text), text };
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw malformed(`domain ${quoted(text)} is not a domain: ${error.message}.`);
  }
}

/** So few wildcards can cover a name that the deepest name costs no more to look up (migrations/0012-reservations.ts). */
const MAX_LABELS_OF_WILDCARD = 9;

/** Two labels or more: what overlaps must share them (migrations/0012-reservations.ts), and one label is a whole zone. */
function canonicalDomain(text: string): string {
  const isWildcard = text.startsWith('*.');
  const name = canonicalName(isWildcard ? text.slice(2) : text);
  const labels = name.split('.').length;
  if (labels < 2) throw new ParseError('it needs two labels or more, as in app.example.com');
  if (!isWildcard) return name;
  if (labels <= MAX_LABELS_OF_WILDCARD) return `*.${name}`;
  throw new ParseError(`a wildcard has ${labels} labels after the star; the maximum is ${MAX_LABELS_OF_WILDCARD}`);
}
