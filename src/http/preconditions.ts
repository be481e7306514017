import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EventMetadata } from '../log/event.js';
import { Problem } from '../problem.js';

/** The ETag of a thing is the version of its stream: one more with each change, and never again the same. */
export const etagOf = (entity: { readonly version: number }): string => `"${entity.version}"`;

export function setEtag(reply: FastifyReply, entity: { readonly version: number }): void {
  void reply.header('etag', etagOf(entity));
}

/** `If-Match: "3"`, or several, or `*` for any. A weak tag matches nothing (RFC 9110, 13.1.1). */
export function readIfMatch({ headers }: FastifyRequest): { ifMatch?: (version: number) => boolean } {
  const header = headers['if-match'];
  if (header === undefined) return {};
  const tags = tagsOf(header);
  return { ifMatch: (version) => tags.includes('*') || tags.includes(etagOf({ version })) };
}

/** Whether the caller has this representation already. A weak tag counts here (RFC 9110, 13.1.2). */
export function matchesIfNoneMatch({ headers }: FastifyRequest, etag: unknown): boolean {
  const header = headers['if-none-match'];
  if (header === undefined || typeof etag !== 'string') return false;
  const tags = tagsOf(header).map((tag) => tag.replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}

const tagsOf = (header: string): string[] => header.split(',').map((tag) => tag.trim());

/** Of what we serve, the methods that change nothing. */
export const isSafeMethod = (method: string): boolean => method === 'GET' || method === 'HEAD';

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/** The key, and a hash of the request it came with: the key with another request is an error of the caller. */
export function readIdempotencyKey({
  method,
  url,
  headers,
  body,
}: FastifyRequest): Pick<EventMetadata, 'idempotency_key' | 'request_hash'> {
  const key = headers['idempotency-key'];
  if (key === undefined || isSafeMethod(method)) return {};
  if (typeof key !== 'string' || !IDEMPOTENCY_KEY.test(key)) {
    throw new Problem('request_malformed', 'Idempotency-Key must be 1 to 255 printable ASCII characters.');
  }
  const request = JSON.stringify([method, url, body ?? null]);
  return { idempotency_key: key, request_hash: createHash('sha256').update(request).digest('hex') };
}
