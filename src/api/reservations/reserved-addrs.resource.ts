import type { Entity } from '../../event-log/index.js';
import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { Text, TextOfBytes } from '../http/validated-body.js';
import {
  Description,
  describedIn,
  describedResource,
  Envelope,
  Metadata,
  READ_ONLY,
  textFields,
} from '../resources/fields.js';
import type { ResourceDescriptor } from '../resources/resource-descriptor.js';
import { MAX_REGION_BYTES } from './address-pools.js';
import { type ReservedAddr, type ReservedAddrEvent, reservedAddrNotFound } from './reserved-addr.js';
import { reservedAddrsReadModel } from './reserved-addrs.read-model.js';

const PATH = 'reserved_addrs';
const TEXTS = textFields('The camera at the gate', '{"device":"camera-7"}');
const ADDR = { description: 'The address as `host:port`, in canonical form.', example: '1.tcp.example.com:20000' };
const REGION = { description: 'The region of its pool, or as it was given; may be empty.', example: 'eu' };

export class CreateReservedAddrBody extends Envelope {
  @Description('request_malformed', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
  @Text({
    description: 'The address to reserve, as `host:port`. Absent: any free address of the pools (`ADDRESS_POOL`).',
    example: ADDR.example,
  })
  addr?: string;
  @TextOfBytes(MAX_REGION_BYTES, 'request_malformed', {
    description: 'Without `addr`, the region whose pools may give the address. Absent or empty: any.',
    example: 'eu',
  })
  region?: string;
}

export class UpdateReservedAddrBody extends Envelope {
  @Description('request_malformed', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
  @Text(READ_ONLY) addr?: string;
  @Text(READ_ONLY) region?: string;
}

@ApiSchemaName('ReservedAddr')
export class ReservedAddrResource extends describedResource(PATH, 'ra', TEXTS) {
  @ApiField(ADDR) addr!: string;
  @ApiField(REGION) region!: string;
}

export const RESERVED_ADDRS: ResourceDescriptor<ReservedAddr, ReservedAddrEvent> = {
  model: reservedAddrsReadModel,
  idPrefix: 'ra',
  path: PATH,
  readOnlyFields: ['addr', 'region'],
  notFound: reservedAddrNotFound,
  toResource: (entity: Entity<ReservedAddr>, baseUrl): ReservedAddrResource => ({
    ...describedIn(entity, baseUrl, PATH),
    addr: entity.addr,
    region: entity.region,
  }),
};
