import { CREATED_AT, idField, uriField } from '../http/openapi/parts.js';
import { Text } from '../http/validated-body.js';
import type { IdPrefix } from '../ids.js';

/** The fields that all resources share: their limits, and their descriptions in the OpenAPI document. */

export const MAX_DESCRIPTION_BYTES = 255;
export const MAX_METADATA_BYTES = 4096;

export const descriptionField = (example: string) => ({ description: 'Free text for people.', example });
export const metadataField = (example: string) => ({ description: 'Free text for programs.', example });

/** id, uri and created_at, as GET shows them. */
export const envelopeFields = (path: string, prefix: IdPrefix) => ({
  id: idField(prefix),
  uri: uriField(path, prefix),
  created_at: CREATED_AT,
});

/** A read-only field of a PATCH body: refuseReadOnlyChanges refuses any value but the current one. */
export const ReadOnly = (): PropertyDecorator =>
  Text({ description: 'Read-only: omit it, or send its current value.' });
