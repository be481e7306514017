import { ApiField, ApiSchemaName } from '../../http/openapi/decorators.js';
import type { RequestContext } from '../../http/request-context.js';
import { Text } from '../../http/validated-body.js';
import { type Expiring, parseExpiry } from './expiry.js';

export const EXPIRES_AT = {
  description: 'The first moment at which it no longer works: RFC 3339, kept in UTC to the millisecond.',
  format: 'date-time' as const,
  example: '2030-01-31T00:00:00.000Z',
};

/** A time in the past is allowed, and takes effect at once. */
class PutExpiryBody {
  @Text({ ...EXPIRES_AT, required: true }) expires_at?: string;
}

@ApiSchemaName('Expiry')
class ExpiryResource {
  @ApiField(EXPIRES_AT) expires_at!: string;
}

/** The routes of an expiry, for resources that have one. `noun` is the entity in messages. */
export const expiryRoutes = (
  noun: string,
  command: new (context: RequestContext, id: string, body: Required<Expiring>) => object,
) => ({
  path: 'expiry',
  answer: ExpiryResource,
  body: PutExpiryBody,
  shown: ({ expires_at }: Expiring): ExpiryResource | null =>
    expires_at ? { expires_at: expires_at.toISOString() } : null,
  absent: `The ${noun} has no expiry.`,
  set: (context: RequestContext, id: string, body: PutExpiryBody) =>
    new command(context, id, { expires_at: parseExpiry(body.expires_at) }),
  remove: (context: RequestContext, id: string) => new command(context, id, { expires_at: null }),
});
