import type { Entity } from '../../event-log/index.js';
import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { EXAMPLE_BASE_URL } from '../http/openapi/parts.js';
import { List, MapField } from '../http/validated-body.js';
import { Description, describedIn, describedResource, Envelope, Metadata, textFields } from '../resources/fields.js';
import type { ResourceDescriptor } from '../resources/resource-descriptor.js';
import { MAX_TUNNELS_OF_GROUP } from './open-tunnels.js';
import {
  type Labels,
  MAX_LABEL_BYTES,
  MAX_LABELS,
  type TunnelGroup,
  type TunnelGroupEvent,
  tunnelGroupNotFound,
} from './tunnel-group.js';
import { tunnelGroupsReadModel } from './tunnel-groups.read-model.js';

const PATH = 'backends/tunnel_group';
const TEXTS = textFields('The build farm', '{"team":"infrastructure"}');
const LABELS = {
  description: `Labels that a tunnel must have, with their values. At most ${MAX_LABELS} labels; keys of 1 to ${MAX_LABEL_BYTES} bytes, values of at most ${MAX_LABEL_BYTES}, neither with an equals sign.`,
  additionalProperties: { type: 'string', maxLength: MAX_LABEL_BYTES, 'x-max-bytes': MAX_LABEL_BYTES },
  example: { app: 'build' },
};
const TUNNELS = {
  description: `The newest open tunnels that have all of the labels, at most ${MAX_TUNNELS_OF_GROUP}. Members see those of the credentials that they own. Empty in answers to changes and with \`as_of\`.`,
  example: [],
};
const IGNORED = { description: 'Ignored: what is open is not changed here.' };

export class CreateTunnelGroupBody extends Envelope {
  @Description('request_malformed', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
  @MapField(LABELS) labels?: object;
  @List({ ...IGNORED, items: { type: 'object' }, example: [] }) tunnels?: unknown[];
}

export class UpdateTunnelGroupBody extends CreateTunnelGroupBody {}

class TunnelRef {
  @ApiField({ description: 'Id of the tunnel.', example: 'tn_1' }) id!: string;
  @ApiField({ description: 'URI of the tunnel.', format: 'uri', example: `${EXAMPLE_BASE_URL}/tunnels/tn_1` })
  uri!: string;
}

@ApiSchemaName('TunnelGroup')
export class TunnelGroupResource extends describedResource(PATH, 'bkdtg', TEXTS) {
  @ApiField({ ...LABELS, type: 'object' }) labels!: Labels;
  @ApiField({ ...TUNNELS, listOf: TunnelRef }) tunnels!: readonly TunnelRef[];
}

export const TUNNEL_GROUPS: ResourceDescriptor<TunnelGroup, TunnelGroupEvent> = {
  model: tunnelGroupsReadModel,
  idPrefix: 'bkdtg',
  path: PATH,
  listKey: 'backends',
  notFound: tunnelGroupNotFound,
  toResource,
};

/** The tunnels of a group, as its answers show them. */
export const tunnelRefs = (ids: readonly string[], baseUrl: string): readonly TunnelRef[] =>
  ids.map((id) => ({ id, uri: `${baseUrl}/tunnels/${id}` }));

function toResource(group: Entity<TunnelGroup>, baseUrl: string): TunnelGroupResource {
  return { ...describedIn(group, baseUrl, PATH), labels: inOrder(group.labels), tunnels: [] };
}

/** Rows hold the names in another order than events do, but answers with one ETag must have the same bytes. */
const inOrder = (labels: Labels): Labels =>
  Object.fromEntries(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)));
