import type { Entity } from '../../event-log/index.js';
import { malformed } from '../../kernel/problem.js';
import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { EXAMPLE_KSUID } from '../http/openapi/parts.js';
import { Flag, List, Read, Text } from '../http/validated-body.js';
import { EXPIRES_AT } from '../resources/expiry/expiry.resource.js';
import { Description, describedIn, describedResource, Envelope, Metadata, textFields } from '../resources/fields.js';
import type { OwnedResourceDescriptor } from '../resources/resource-descriptor.js';
import { type EnrollmentKey, type EnrollmentKeyEvent, enrollmentKeyNotFound, REMOVAL } from './enrollment-key.js';
import { enrollmentKeysReadModel } from './enrollment-keys.read-model.js';

const PATH = 'enrollment_keys';
/** The largest fleets that we know of enrol some ten thousand devices with one key. */
const MAX_USES = 100_000;

const TEXTS = textFields('Cameras of the first floor', '{"site":"north"}');
const ACL = {
  description: 'Rules of each credential. `{name}` is the name of the device, and `{addr}` its address.',
  items: { type: 'string' },
  example: ['bind:{name}.devices.example.com:443'],
};
const OWNER_ID = { description: 'Owner of the credentials that it makes. Empty or absent: the caller.' };
const RESERVE_ADDR = { description: 'Whether each device gets an address of its own.', example: false };
const NAME = { description: 'The one device that it enrols, whose credential it may replace.', example: 'camera-7' };
const USES = { description: 'How many devices it may enrol: 1 for a key with a name.', example: 1 };
const TOKEN = {
  description:
    'The secret, to be sent as `Authorization: Bearer <token>` to POST /enroll. Only the answer that creates the key has it; all later ones have null.',
  type: 'string' as const,
  nullable: true,
  example: `enroll_${EXAMPLE_KSUID}_Tv4pG1a9x2k6Qw8ZrB0mLsYcUdHeJfNo`,
};

function readMaxUses(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_USES) return value;
  throw malformed(`max_uses must be a whole number from 1 to ${MAX_USES}.`);
}

export class CreateEnrollmentKeyBody extends Envelope {
  @Description('request_malformed', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
  @List({ ...ACL, required: true }) acl?: unknown[];
  @Text(OWNER_ID) owner_id?: string;
  @Flag(RESERVE_ADDR) reserve_addr?: boolean;
  @Text(NAME) name?: string;
  @Read({ ...USES, type: 'integer', minimum: 1, maximum: MAX_USES, required: true }, readMaxUses) max_uses!: number;
  @Text(EXPIRES_AT) expires_at?: string;
}

@ApiSchemaName('EnrollmentKey')
export class EnrollmentKeyResource extends describedResource(PATH, 'enk', TEXTS) {
  @ApiField({ ...ACL, type: 'array' }) acl!: readonly string[];
  @ApiField({ ...OWNER_ID, example: `usr_${EXAMPLE_KSUID}` }) owner_id!: string;
  @ApiField({ ...RESERVE_ADDR, type: 'boolean' }) reserve_addr!: boolean;
  @ApiField({ ...NAME, type: 'string', nullable: true }) name!: string | null;
  @ApiField({ ...USES, type: 'integer' }) max_uses!: number;
  @ApiField({ description: 'How many it has enrolled.', type: 'integer', example: 0 }) uses!: number;
  @ApiField({ ...EXPIRES_AT, type: 'string', nullable: true }) expires_at!: string | null;
  @ApiField(TOKEN) token!: string | null;
}

export const ENROLLMENT_KEYS: OwnedResourceDescriptor<EnrollmentKey, EnrollmentKeyEvent> = {
  model: enrollmentKeysReadModel,
  idPrefix: 'enk',
  path: PATH,
  isPrivate: true,
  removal: REMOVAL,
  notFound: enrollmentKeyNotFound,
  toResource,
};

function toResource(key: Entity<EnrollmentKey>, baseUrl: string): EnrollmentKeyResource {
  const { acl, owner_id, reserve_addr, name, max_uses, uses, expires_at } = key;
  return {
    ...describedIn(key, baseUrl, PATH),
    ...{ acl, owner_id, reserve_addr, name, max_uses, uses },
    ...{ expires_at: expires_at?.toISOString() ?? null, token: null },
  };
}
