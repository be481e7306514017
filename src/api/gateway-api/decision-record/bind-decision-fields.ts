import { EXAMPLE_KSUID, idPattern } from '../../http/openapi/parts.js';

/** Fields of answers to gateways that the record of bind decisions has too. */

export const CREDENTIAL_ID = {
  description: 'Id of the SSH credential.',
  pattern: idPattern('sshcr'),
  example: `sshcr_${EXAMPLE_KSUID}`,
};

export const OWNER_ID = {
  description: 'Id of the owner of the credential. The service may not know this owner.',
  example: `usr_${EXAMPLE_KSUID}`,
};

export const VERSION = {
  description: 'Version of the credential. Every change adds one.',
  type: 'integer' as const,
  example: 1,
};

/** A string or integer that may be null. */
export const nullable = <Field extends { readonly description: string; readonly type?: 'integer' }>(field: Field) => ({
  type: 'string' as const,
  ...field,
  nullable: true,
});

/** The rule that a refusal lacks. */
export const NEEDS = {
  description:
    'The rule that would permit the tunnel, as one writes it in `acl`. Null if the tunnel is permitted, if no rule helps, or if only a wider rule would permit the label.',
  type: 'string' as const,
  nullable: true,
  example: null,
};

/** As GATEWAY_TOKENS takes it. */
export const GATEWAY_NAME = {
  description: 'Name of the gateway in `GATEWAY_TOKENS`; null if its token has no name.',
  pattern: '^[a-z0-9-]{1,32}$',
  example: 'frankfurt-1',
};

/** A bind target, in requests and in recorded decisions. */
export const TARGET_SCHEMA = {
  type: 'object',
  description: 'The target to bind: exactly one of `domain`, `address` and `label`.',
  properties: {
    domain: { type: 'string', description: 'A host name.', examples: ['app.example.com'] },
    address: { type: 'string', description: '`host:port`. Port 0 asks for any free port.' },
    label: {
      type: 'object',
      description: 'A label.',
      properties: { key: { type: 'string' }, value: { type: 'string' } },
      required: ['key', 'value'],
      additionalProperties: false,
    },
  },
  additionalProperties: false,
};
