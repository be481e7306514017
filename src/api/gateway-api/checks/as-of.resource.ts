import { malformed } from '../../../kernel/problem.js';
import { Read } from '../../http/validated-body.js';

/** What the log of one account does not say about the past. */
export const NOT_CONSIDERED_OF_EDGES = ['other_accounts', 'resting_names', 'settings'] as const;
export const NOT_CONSIDERED_OF_CREDENTIALS = [...NOT_CONSIDERED_OF_EDGES, 'denied_keys', 'other_credentials'] as const;

const AS_OF = {
  description: 'A log position or an RFC 3339 time: the answer of then, by the log of the account.',
  oneOf: [{ type: 'string' }, { type: 'integer' }],
  example: null,
};

/** The field of a question about the past. */
export const AsOf = (): PropertyDecorator =>
  Read(AS_OF, (value) => {
    if (typeof value === 'string' || typeof value === 'number') return String(value);
    throw malformed('as_of must be a log position or an RFC 3339 time.');
  });

export const NOT_CONSIDERED = {
  description: 'Only with `as_of`: what does not count.',
  type: 'array' as const,
  items: { type: 'string', enum: NOT_CONSIDERED_OF_CREDENTIALS },
  required: false,
  example: ['settings'],
};
