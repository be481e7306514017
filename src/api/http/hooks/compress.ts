import { gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { onSendHookHandler } from 'fastify';
import { isSafeMethod } from '../preconditions.js';

/** Two packets on the wire: compression does not make a shorter answer arrive sooner. */
export const MIN_COMPRESSED_BYTES = 2_048;

const COMPRESSIBLE = /^(?:application\/(?:json|javascript|cloudevents-batch\+json)|text\/)/;

/**
 * Gzips a list or another long text for a client that accepts it. An answer with an ETag stays as it is, because a
 * strong tag stands for the exact bytes. Compression does not endanger secrets here (BREACH): no page can make a
 * browser send a key.
 */
export const compress: onSendHookHandler = ({ method, headers }, reply, body, done) => {
  const isFound = reply.statusCode === 200 && isSafeMethod(method);
  const isFinal = reply.hasHeader('etag') || reply.hasHeader('content-encoding');
  const isText = typeof body === 'string' || Buffer.isBuffer(body);
  const isCompressible = COMPRESSIBLE.test(String(reply.getHeader('content-type')));
  if (!isFound || isFinal || !isText || !isCompressible) return done(null, body);
  void reply.header('vary', [reply.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', '));
  const coding = negotiate(headers['accept-encoding']?.toLowerCase() ?? '', ['gzip', 'identity']);
  if (body.length < MIN_COMPRESSED_BYTES || coding !== 'gzip') return done(null, body);
  gzip(body, (error, bytes) => {
    if (error !== null) return done(error);
    void reply.header('content-encoding', 'gzip');
    done(null, bytes);
  });
};
