import type { Entity } from '../../event-log/index.js';
import type { IdPrefix } from '../../kernel/ids.js';
import type { ProblemName } from '../../kernel/problem.js';
import type { Field } from '../http/documentation.js';
import { ApiField } from '../http/openapi/decorators.js';
import { CREATED_AT, idField, uriField } from '../http/openapi/parts.js';
import { Text, TextOfBytes } from '../http/validated-body.js';

/** The fields that all resources share: their limits, and their descriptions in the OpenAPI document. */

const MAX_DESCRIPTION_BYTES = 255;
const MAX_METADATA_BYTES = 4096;

/** Fields of a body; `tooLong` names the refusal of a longer text. */
export const Description = (tooLong: ProblemName, field: Field): PropertyDecorator =>
  TextOfBytes(MAX_DESCRIPTION_BYTES, tooLong, field);
export const Metadata = (tooLong: ProblemName, field: Field): PropertyDecorator =>
  TextOfBytes(MAX_METADATA_BYTES, tooLong, field);

/** id, uri and created_at, as GET shows them. */
export const envelopeFields = (path: string, prefix: IdPrefix) => ({
  id: idField(prefix),
  uri: uriField(path, prefix),
  created_at: CREATED_AT,
});

/** description and metadata, with an example of each. */
export const textFields = (description: string, metadata: string) => ({
  description: { description: 'Free text for people.', example: description },
  metadata: { description: 'Free text for programs.', example: metadata },
});

/** The fields that most resources begin with, as GET shows them. */
export function describedResource(path: string, prefix: IdPrefix, texts: ReturnType<typeof textFields>) {
  const envelope = envelopeFields(path, prefix);
  class Described {
    @ApiField(envelope.id) id!: string;
    @ApiField(envelope.uri) uri!: string;
    @ApiField(envelope.created_at) created_at!: string;
    @ApiField(texts.description) description!: string;
    @ApiField(texts.metadata) metadata!: string;
  }
  return Described;
}

/** The same fields of an entity. */
export const describedIn = (
  { id, created_at, description, metadata }: Entity<{ readonly description: string; readonly metadata: string }>,
  baseUrl: string,
  path: string,
) => ({ id, uri: `${baseUrl}/${path}/${id}`, created_at: created_at.toISOString(), description, metadata });

/** A read-only field of a PATCH: refuseReadOnlyChanges refuses any value but the current one. */
export const READ_ONLY = { description: 'Read-only.' };
export const ReadOnly = (): PropertyDecorator => Text(READ_ONLY);

/** A read-only field that a POST takes too, so that a caller can send the answer of a GET to create a copy. */
const IGNORED_BY_POST = { description: 'Read-only; POST ignores it.' };

/** id, uri and created_at in a PATCH. */
export class ReadOnlyEnvelope {
  @ReadOnly() id?: string;
  @ReadOnly() uri?: string;
  @ReadOnly() created_at?: string;
}

/** id, uri and created_at in a body that a POST takes too. */
export class Envelope {
  @Text(IGNORED_BY_POST) id?: string;
  @Text(IGNORED_BY_POST) uri?: string;
  @Text(IGNORED_BY_POST) created_at?: string;
}
