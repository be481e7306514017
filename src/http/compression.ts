import { gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isSafeMethod } from './preconditions.js';

/** Two packets on the wire: compression does not make a shorter answer arrive sooner. */
export const MIN_COMPRESSED_BYTES = 2_048;

const COMPRESSIBLE = /^(?:application\/(?:json|javascript|cloudevents-batch\+json)|text\/)/;

/**
 * Gzips lists and other long texts if the client accepts it, in zlib's threads; Brotli would save only 3 % more of a
 * list. Compression is no risk to secrets here (BREACH): no page can make a browser send a key.
 */
export function compress(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  body: unknown,
  done: (error: Error | null, body: unknown) => void,
): void {
  if (!isSafeMethod(method) || !isText(body) || !isCompressible(reply)) return void done(null, body);
  addVary(reply, 'Accept-Encoding');
  if (body.length < MIN_COMPRESSED_BYTES || !acceptsGzip(headers['accept-encoding'])) return void done(null, body);
  gzip(body, (error, bytes) => {
    if (error !== null) return void done(null, body);
    void reply.header('content-encoding', 'gzip').removeHeader('content-length');
    done(null, bytes);
  });
}

const isText = (body: unknown): body is string | Buffer => typeof body === 'string' || Buffer.isBuffer(body);

/**
 * An answer with an ETag stays as it is: a strong tag stands for the exact bytes, and single resources are the hot
 * path.
 */
const isCompressible = (reply: FastifyReply): boolean =>
  !reply.hasHeader('etag') &&
  reply.statusCode === 200 &&
  !reply.hasHeader('content-encoding') &&
  COMPRESSIBLE.test(String(reply.getHeader('content-type')));

function addVary(reply: FastifyReply, name: string): void {
  const before = reply.getHeader('vary');
  void reply.header('vary', before === undefined ? name : `${before}, ${name}`);
}

const acceptsGzip = (accepted: string | string[] | undefined): boolean =>
  typeof accepted === 'string' && negotiate(accepted.toLowerCase(), ['gzip', 'identity']) === 'gzip';
