import { gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Two packets on the wire: compression does not make a shorter answer arrive sooner. */
export const MIN_COMPRESSED_BYTES = 2_048;

const COMPRESSIBLE = /^(?:application\/(?:json|javascript|cloudevents-batch\+json)|text\/)/;

/**
 * Gzips a list or another long text for a client that accepts it. An answer with an ETag stays as it is, because a
 * strong tag stands for the exact bytes. Compression is no risk to secrets here (BREACH): no page can make a browser send
 * a key.
 */
export function compress(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  body: unknown,
  done: (error: Error | null, body: unknown) => void,
): void {
  const isText = typeof body === 'string' || Buffer.isBuffer(body);
  const isFinal = reply.hasHeader('etag') || reply.hasHeader('content-encoding');
  if (!isText || isFinal || !COMPRESSIBLE.test(String(reply.getHeader('content-type')))) return void done(null, body);
  void reply.header('vary', [reply.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', '));
  const coding = negotiate(headers['accept-encoding']?.toLowerCase() ?? '', ['gzip', 'identity']);
  if (body.length < MIN_COMPRESSED_BYTES || coding !== 'gzip') return void done(null, body);
  gzip(body, (error, bytes) => {
    if (error === null) void reply.header('content-encoding', 'gzip');
    done(error, bytes);
  });
}
