import { ApiField, ApiSchemaName } from '../../http/openapi/decorators.js';
import { Text } from '../../http/validated-body.js';
import type { Entity } from '../../log/read-model.js';
import { Problem } from '../../problem.js';
import type { Found } from '../reads.js';
import type { Expiring } from './expiry.js';

const EXPIRES_AT = {
  description: 'The first moment at which it no longer works: RFC 3339, kept in UTC to the millisecond.',
  format: 'date-time' as const,
  example: '2030-01-31T00:00:00.000Z',
};

/** A time in the past is allowed, and takes effect at once. */
export class PutExpiryBody {
  @Text({ ...EXPIRES_AT, required: true }) expires_at?: string;
}

@ApiSchemaName('Expiry')
export class ExpiryResource {
  @ApiField(EXPIRES_AT) expires_at!: string;
}

/** Renders the expiry in place of its entity: a RouteConfig. */
export const EXPIRY = {
  render: ({ entity }: { readonly entity?: Expiring | undefined }): ExpiryResource | undefined =>
    entity?.expires_at ? { expires_at: entity.expires_at.toISOString() } : undefined,
};

/** Throws not_found if the entity has no expiry. `noun` is the entity in the message. */
export function requireExpiry<State extends Expiring>(found: Found<State>, noun: string): Found<State> {
  const { expires_at }: Entity<Expiring> = found.entity;
  if (expires_at) return found;
  throw new Problem('not_found', `The ${noun} has no expiry.`);
}
