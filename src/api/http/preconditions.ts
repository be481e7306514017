import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { EventMetadata } from '../../event-log/index.js';
import { malformed } from '../../kernel/problem.js';

/**
 * The ETag of a resource is the version of its stream, which grows by one with each change and never repeats. An answer that
 * also shows what no event says has a digest of it after the version.
 */
export function etagOf(entity: { readonly version: number }, live?: object): string {
  if (live === undefined) return `"${entity.version}"`;
  const digest = createHash('sha256').update(JSON.stringify(live)).digest('hex').slice(0, 16);
  return `"${entity.version};${digest}"`;
}

const ENTITY_TAGS = /^\s*(\*|(W\/)?"[^"]*"(\s*,\s*(W\/)?"[^"]*")*)\s*$/;

/**
 * Reads `If-Match`: one tag such as `"3"`, several, or `*` for any version. A weak tag matches too: a proxy that compresses
 * makes `W/"3"` of the tag of an answer, and a version is the same however its bytes are coded.
 */
export function readIfMatch({ headers }: FastifyRequest): { ifMatch?: (version: number) => boolean } {
  const header = headers['if-match'];
  if (header === undefined) return {};
  if (!ENTITY_TAGS.test(header)) {
    throw malformed('If-Match must be an ETag in quotes, such as "2", several of them, or *.');
  }
  // A change is of what events say, so the digest of the rest does not count.
  const tags = tagsOf(header).map((tag) => tag.replace(/;[0-9a-f]{16}"$/, '"'));
  return { ifMatch: (version) => tags.includes('*') || tags.includes(etagOf({ version })) };
}

/** Whether the caller already has this representation. A weak tag counts here (RFC 9110, 13.1.2). */
export function matchesIfNoneMatch({ headers }: FastifyRequest, etag: unknown): boolean {
  const header = headers['if-none-match'];
  if (header === undefined || typeof etag !== 'string') return false;
  const tags = tagsOf(header);
  return tags.includes('*') || tags.includes(etag);
}

/** Without the mark of a weak tag. */
const tagsOf = (header: string): string[] => header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));

/** Whether the method is one of the safe ones that the service has (RFC 9110, 9.2.1). */
export const isSafeMethod = (method: string): boolean => method === 'GET' || method === 'HEAD';

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/** Reads the key and hashes its request: a caller must not use one key for two different requests. */
export function readIdempotencyKey({
  method,
  url,
  headers,
  body,
}: FastifyRequest): Pick<EventMetadata, 'idempotency_key' | 'request_hash'> {
  const key = headers['idempotency-key'];
  if (key === undefined || isSafeMethod(method)) return {};
  if (typeof key !== 'string' || !IDEMPOTENCY_KEY.test(key)) {
    throw malformed('Idempotency-Key must be 1 to 255 printable ASCII characters.');
  }
  const request = JSON.stringify([method, url, body ?? null]);
  return { idempotency_key: key, request_hash: createHash('sha256').update(request).digest('hex') };
}

/**
 * A `traceparent` of W3C Trace Context: version, trace-id, parent-id and flags, in lower case and not all zeros. Version ff
 * is invalid, version 00 ends with its flags, and a later version may continue after a dash.
 */
const TRACEPARENT = /^(?!ff|00.{54})[\da-f]{2}-(?!0{32})(?<traceId>[\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/;

/**
 * The trace-id of a request. A header that W3C calls invalid is ignored, as W3C demands. Every other trace header is
 * ignored too.
 */
export function readTraceId({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.groups?.traceId : undefined;
}
