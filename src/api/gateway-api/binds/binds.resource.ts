import { MAX_ALIASES } from '../../../rules/index.js';
import { ApiField, ApiSchemaName } from '../../http/openapi/decorators.js';
import { EXAMPLE_KSUID, idPattern, type ParameterOf, queryParameter } from '../../http/openapi/parts.js';
import { Anything, Flag, Text, TextOfBytes } from '../../http/validated-body.js';
import { LAST_USED_AT } from '../../ssh-credentials/credential-usage.resource.js';
import { FINGERPRINT } from '../../ssh-credentials/ssh-credentials.resource.js';
import {
  CREDENTIAL_ID,
  NEEDS,
  nullable,
  OWNER_ID,
  TARGET_SCHEMA,
  VERSION,
} from '../decision-record/bind-decision-fields.js';
import { type BindDecision, REASONS } from '../decisions/bind-decision.js';
import { type Held, MAX_BYTES_OF_NAMES, MAX_NAMES, MAX_RECHECKED, MAX_TARGETS, readHeld } from './gateway-requests.js';

const ACCOUNT_ID = {
  description: 'Id of the account that the key belongs to.',
  pattern: idPattern('ac'),
  example: `ac_${EXAMPLE_KSUID}`,
};

/** Names a key by its text or by its fingerprint. */
export class IdentifyBody {
  @Text({ description: 'Text of the key, in any form that can be uploaded. Send either this or `fingerprint`.' })
  public_key?: string;
  @Text(FINGERPRINT) fingerprint?: string;
}

/** A query parameter that a question of a gateway must have. */
export const requiredParameter = (name: string, description: string, example: string): ParameterOf =>
  queryParameter(name, description, { type: 'string', examples: [example] }, { required: true });

/** Longer than any address, so that a gateway may send a name instead. */
export const MAX_SOURCE_BYTES = 255;

const ASKED = {
  ...TARGET_SCHEMA,
  properties: {
    ...TARGET_SCHEMA.properties,
    aliases: {
      type: 'array',
      maxItems: MAX_ALIASES,
      items: { type: 'string' },
      description:
        'Beside `address`: other addresses that the same listener takes, because the gateway has several names for it. None of them may be reserved for others.',
    },
  },
};

const targetField = (one: object) => ({
  description: `The target to bind, or a list of up to ${MAX_TARGETS} targets. The targets of a list and their aliases are at most ${MAX_NAMES} names of ${MAX_BYTES_OF_NAMES} bytes in all.`,
  required: true,
  oneOf: [one, { type: 'array', items: one, minItems: 1, maxItems: MAX_TARGETS }],
  example: { domain: 'app.example.com' },
});

/** Bodies that name what to bind. */
export const TARGET = targetField(TARGET_SCHEMA);

export class AuthorizeBody extends IdentifyBody {
  @Anything(targetField(ASKED)) target?: unknown;
  @TextOfBytes(MAX_SOURCE_BYTES, 'request_malformed', {
    description:
      'Where the tunnel comes from: an address, or `address:port` with IPv6 in brackets. It is recorded with the decision. ' +
      'A credential with a source restriction permits nothing if there is no such address.',
    example: '203.0.113.9',
  })
  source?: string;
  @Flag({
    description:
      'Whether the service permitted all this before, so that only refusals are recorded. Absent: every decision is.',
    example: false,
  })
  repeated?: boolean;
}

/** The body may be a list, and not an object of fields. */
export class RecheckBody {
  private constructor(readonly held: Held) {}

  static read = (value: unknown): RecheckBody => new RecheckBody(readHeld(value));
}

const CREDENTIALS_SCHEMA = {
  type: 'array',
  maxItems: MAX_RECHECKED,
  items: {
    type: 'object',
    properties: {
      credential_id: {
        type: 'string',
        description: 'Id of the credential, from a decision.',
        examples: [CREDENTIAL_ID.example],
      },
      version: {
        type: 'integer',
        description: 'Version of the credential, from the same decision.',
        minimum: 1,
        examples: [1],
      },
    },
    required: ['credential_id', 'version'],
    additionalProperties: false,
  },
};

export const RECHECK_SCHEMA = {
  examples: [{ credentials: [{ credential_id: CREDENTIAL_ID.example, version: 1 }] }],
  oneOf: [
    CREDENTIALS_SCHEMA,
    {
      type: 'object',
      properties: {
        credentials: CREDENTIALS_SCHEMA,
        reservations: { type: 'string', description: '`reservations` of the last answer, if there was one.' },
      },
      required: ['credentials'],
      additionalProperties: false,
    },
  ],
};

/** A duration, since the clock of a gateway can be wrong. */
const expiresIn = (description: string) => ({
  description: `${description} Count it from the moment at which you sent the question. Absent: never.`,
  ...{ type: 'integer' as const, required: false, example: 86_400_000 },
});

class IdentifiedCredential {
  @ApiField(CREDENTIAL_ID) credential_id!: string;
  @ApiField(OWNER_ID) owner_id!: string;
  @ApiField(VERSION) version!: number;
  @ApiField(LAST_USED_AT) last_used_at!: string | null;
}

export class IdentifiedKey {
  @ApiField(ACCOUNT_ID) account_id!: string;
  @ApiField(FINGERPRINT) fingerprint!: string;
  @ApiField({
    description:
      'The credentials of the key that count, oldest first: their owners are active, and they have not expired.',
    listOf: IdentifiedCredential,
  })
  credentials!: IdentifiedCredential[];
  @ApiField(nullable({ description: '`TUNNEL_DOMAIN`.', example: 'https://tunnels.example.com' }))
  tunnel_domain!: string | null;
}

export class BindDecisionAnswer {
  @ApiField({ description: 'Whether the tunnel may be opened.', example: true }) allowed!: boolean;
  @ApiField({ description: 'Reason for the decision.', enum: REASONS, example: 'permitted' }) reason!: string;
  @ApiField({
    description:
      'The rule that permits the tunnel, as written; null if no rule does, or if the credential has no rules.',
    type: 'string',
    nullable: true,
    example: 'bind:*.example.com',
  })
  matched_rule!: string | null;
  @ApiField(NEEDS) needs!: string | null;
  @ApiField(
    nullable({
      ...CREDENTIAL_ID,
      description:
        'The credential that permits the tunnel; otherwise the oldest one for which the reason holds. Null if the key is unknown.',
    }),
  )
  credential_id!: string | null;
  @ApiField(nullable(ACCOUNT_ID)) account_id!: string | null;
  @ApiField(nullable(OWNER_ID)) owner_id!: string | null;
  @ApiField(nullable(VERSION)) version!: number | null;
  @ApiField(
    expiresIn('Only if `allowed`: in how many milliseconds the last credential that permits the tunnel expires.'),
  )
  expires_in_ms?: number;
}

export const toAnswer = ({
  allowed,
  reason,
  matchedRule,
  needs,
  grant,
  expiresInMs,
}: BindDecision): BindDecisionAnswer => ({
  allowed,
  reason,
  matched_rule: matchedRule,
  needs,
  credential_id: grant?.credentialId ?? null,
  account_id: grant?.accountId ?? null,
  owner_id: grant?.ownerId ?? null,
  version: grant?.version ?? null,
  ...(expiresInMs !== null && { expires_in_ms: expiresInMs }),
});

@ApiSchemaName('DecisionAnswers')
export class BindDecisionAnswers {
  @ApiField({ description: 'One decision for each target, in the order of the targets.', listOf: BindDecisionAnswer })
  decisions!: BindDecisionAnswer[];
}

const CHANGES = ['changed', 'expired', 'owner_inactive', 'gone'] as const;

export class ChangedCredential {
  @ApiField({ description: 'Id, as sent.', example: CREDENTIAL_ID.example }) credential_id!: string;
  @ApiField({
    description:
      '`gone`: the credential no longer grants access. `owner_inactive`: the owner is inactive now. `expired`: the credential has expired. `changed`: the credential may permit less than before; authorize its tunnels again.',
    enum: CHANGES,
    example: 'changed',
  })
  reason!: (typeof CHANGES)[number];
  @ApiField(nullable({ ...VERSION, description: 'Current version of the credential; null if it is gone.', example: 2 }))
  version!: number | null;
  @ApiField(expiresIn('Only if it has `changed`: in how many milliseconds the credential expires.'))
  expires_in_ms?: number;
}

export class RecheckAnswer {
  @ApiField({ description: 'The credentials that have changed, in the order sent.', listOf: ChangedCredential })
  changed!: ChangedCredential[];
  @ApiField({
    description: 'What to send with the next question. It stands for the reservations of this moment.',
    example: 'eyJzbmFwc2hvdCI6Ijc6NzoifQ',
  })
  reservations!: string;
  @ApiField({
    description:
      'Whether an address or a domain may have been reserved or freed since: then ask anew about everything that is open. True if the question had no `reservations`.',
    example: false,
  })
  reservations_changed!: boolean;
}
