import { ApiField, ApiSchemaName } from '../../http/openapi/decorators.js';
import { Text } from '../../http/validated-body.js';
import type { Expiring } from './expiry.js';

export const EXPIRES_AT = {
  description: 'The first moment at which it no longer works: RFC 3339, kept in UTC to the millisecond.',
  format: 'date-time' as const,
  example: '2030-01-31T00:00:00.000Z',
};

export class PutExpiryBody {
  @Text({ ...EXPIRES_AT, required: true }) expires_at?: string;
}

@ApiSchemaName('Expiry')
export class ExpiryResource {
  @ApiField(EXPIRES_AT) expires_at!: string;
}

/** Undefined if there is none. */
export const toExpiry = ({ expires_at }: Expiring): ExpiryResource | undefined =>
  expires_at ? { expires_at: expires_at.toISOString() } : undefined;
