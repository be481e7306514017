import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { EXAMPLE_KSUID, EXAMPLE_TIME, idPattern } from '../http/openapi/parts.js';
import { Anything, Text, TextOfBytes } from '../http/validated-body.js';
import { MAX_EDGES_OF_A_HOSTPORT } from '../tcp-edges/tcp-edges.read-model.js';
import { TcpEdgeResource } from '../tcp-edges/tcp-edges.resource.js';
import { type Decision, REASONS } from './bind-decisions/decision.js';
import { credentialsAskedFor, type KnownCredential, MAX_RECHECKED, MAX_TARGETS } from './question.js';

export const FINGERPRINT = {
  description: 'Of the key: `SHA256:` and unpadded base64, as `ssh-keygen -l` prints it.',
  example: 'SHA256:UNhY4JhezH9gQYqvDMWrWH9CwlcKiECVqejMrND2VFw',
};
const ACCOUNT_ID = {
  description: 'The account that the key belongs to.',
  pattern: idPattern('ac'),
  example: `ac_${EXAMPLE_KSUID}`,
};
const CREDENTIAL_ID = {
  description: 'An SSH credential.',
  pattern: idPattern('sshcr'),
  example: `sshcr_${EXAMPLE_KSUID}`,
};
export const OWNER_ID = {
  description: 'Who owns the credential; perhaps someone the service does not know.',
  example: `usr_${EXAMPLE_KSUID}`,
};
export const VERSION = {
  description: 'Of the credential: one more with each change of it.',
  type: 'integer' as const,
  example: 1,
};
export const LAST_USED_AT = {
  description: 'When it last permitted a tunnel; null: not yet, as far as is known.',
  type: 'string' as const,
  format: 'date-time' as const,
  nullable: true,
  example: EXAMPLE_TIME,
};

/** A text or number that is null where the key is unknown. */
export const nullable = <Field extends { readonly description: string; readonly type?: 'integer' }>(field: Field) => ({
  type: 'string' as const,
  ...field,
  nullable: true,
});

/** How a target is written, in questions and in what is recorded of them. */
export const TARGET_SCHEMA = {
  type: 'object',
  description: 'What is to be bound: exactly one of these.',
  properties: {
    domain: { type: 'string', description: 'A host name.', examples: ['app.example.com'] },
    address: { type: 'string', description: '`host:port`; port 0 asks for a free one.' },
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

/** A question about a key, named by its text or its fingerprint. */
export class IdentifyBody {
  @Text({ description: 'Of the key, in any form that can be uploaded. Either this or `fingerprint`.' })
  public_key?: string;
  @Text(FINGERPRINT) fingerprint?: string;
}

/** Longer than any address; a gateway may add a port or a name. */
const MAX_SOURCE_BYTES = 255;

export class AuthorizeBody extends IdentifyBody {
  @Anything({
    description: `What is to be bound, or a list of up to ${MAX_TARGETS} such targets.`,
    required: true,
    oneOf: [TARGET_SCHEMA, { type: 'array', items: TARGET_SCHEMA, minItems: 1, maxItems: MAX_TARGETS }],
    example: { domain: 'app.example.com' },
  })
  target?: unknown;
  @TextOfBytes(MAX_SOURCE_BYTES, 'request_malformed', {
    description: 'Where the tunnel comes from, to be recorded with the decision.',
    example: '203.0.113.9',
  })
  source?: string;
}

/** A list of what the gateway lets in, so no object of fields. */
export class RecheckBody {
  private constructor(readonly credentials: readonly KnownCredential[]) {}

  static read = (value: unknown): RecheckBody => new RecheckBody(credentialsAskedFor(value));
}

export const RECHECK_SCHEMA = {
  type: 'array',
  maxItems: MAX_RECHECKED,
  items: {
    type: 'object',
    properties: {
      credential_id: { type: 'string', description: 'As a decision named it.', examples: [CREDENTIAL_ID.example] },
      version: { type: 'integer', description: 'As the same decision named it.', minimum: 1, examples: [1] },
    },
    required: ['credential_id', 'version'],
    additionalProperties: false,
  },
};

export class IdentifiedCredential {
  @ApiField(CREDENTIAL_ID) credential_id!: string;
  @ApiField(OWNER_ID) owner_id!: string;
  @ApiField(VERSION) version!: number;
  @ApiField(LAST_USED_AT) last_used_at!: string | null;
}

export class IdentifiedKey {
  @ApiField(ACCOUNT_ID) account_id!: string;
  @ApiField(FINGERPRINT) fingerprint!: string;
  @ApiField({ description: 'Those whose owners are active, oldest first.', listOf: IdentifiedCredential })
  credentials!: IdentifiedCredential[];
}

@ApiSchemaName('BindDecisionAnswer')
export class DecisionAnswer {
  @ApiField({ description: 'Whether the tunnel may be opened.', example: true }) allowed!: boolean;
  @ApiField({ description: 'Why, or why not.', enum: REASONS, example: 'permitted' }) reason!: string;
  @ApiField({
    description: 'The rule that permits, as written; null when none does, or when the credential has no rules at all.',
    type: 'string',
    nullable: true,
    example: 'bind:*.example.com',
  })
  matched_rule!: string | null;
  @ApiField(nullable({ ...CREDENTIAL_ID, description: 'The one that permits; else the oldest of the key.' }))
  credential_id!: string | null;
  @ApiField(nullable(ACCOUNT_ID)) account_id!: string | null;
  @ApiField(nullable(OWNER_ID)) owner_id!: string | null;
  @ApiField(nullable(VERSION)) version!: number | null;
}

export const toAnswer = ({ allowed, reason, matchedRule, grant }: Decision): DecisionAnswer => ({
  allowed,
  reason,
  matched_rule: matchedRule,
  credential_id: grant?.credentialId ?? null,
  account_id: grant?.accountId ?? null,
  owner_id: grant?.ownerId ?? null,
  version: grant?.version ?? null,
});

export class DecisionAnswers {
  @ApiField({ description: 'One for each target, in the order of the targets.', listOf: DecisionAnswer })
  decisions!: DecisionAnswer[];
}

export const CHANGES = ['changed', 'owner_inactive', 'gone'] as const;

export class ChangedCredential {
  @ApiField({ description: 'As it was sent.', example: CREDENTIAL_ID.example }) credential_id!: string;
  @ApiField({
    description:
      '`gone`: it grants nothing any more. `owner_inactive`: for now. `changed`: ask again what it permits; it may be less.',
    enum: CHANGES,
    example: 'changed',
  })
  reason!: (typeof CHANGES)[number];
  @ApiField(nullable({ ...VERSION, description: 'The version it has now; null when it is gone.', example: 2 }))
  version!: number | null;
}

export class RecheckAnswer {
  @ApiField({ description: 'Those that are not as they were, in the order sent.', listOf: ChangedCredential })
  changed!: ChangedCredential[];
}

export class ListedEdge {
  @ApiField({ ...ACCOUNT_ID, description: 'Whose edge it is.' }) account_id!: string;
  @ApiField({ description: 'The edge.', type: TcpEdgeResource }) edge!: TcpEdgeResource;
}

export class ListedEdges {
  @ApiField({
    description: `Oldest first, at most ${MAX_EDGES_OF_A_HOSTPORT}; empty when no edge lists the hostport.`,
    listOf: ListedEdge,
  })
  edges!: ListedEdge[];
}
