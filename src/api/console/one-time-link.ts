import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { POOL } from '../../database/index.js';
import { Problem } from '../../kernel/problem.js';
import { createOperatorKey } from '../access/api-keys/operator-key.js';
import { isPassedOn } from '../http/trusted-proxies.js';
import { Changes } from '../resources/changes.js';

/** 256 bits. */
const SECRET_BYTES = 32;
const GOOD_FOR_MS = 5 * 60_000;
const KEY_ENDS_IN_MS = 12 * 3_600_000;
const LOOPBACK = /^(::ffff:)?127\.|^::1$/;
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/**
 * Signs in whoever started a first try at this machine, without a key to type. The start makes one link, on an embedded
 * database and a terminal only. It is good once.
 */
@Injectable()
export class OneTimeLink {
  private hash: Buffer | undefined;
  private endsAt = 0;

  constructor(
    @Inject(POOL) private readonly pool: Pool,
    private readonly changes: Changes,
  ) {}

  /** The secret of a link. Only its hash is kept, in memory. */
  make(): string {
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    this.hash = hashOf(secret);
    this.endsAt = performance.now() + GOOD_FOR_MS;
    return secret;
  }

  /** An API key in place of the secret. Throws Problem. */
  async use(request: FastifyRequest): Promise<string> {
    refuseOthers(request);
    const secret = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    const isGood = this.hash !== undefined && timingSafeEqual(this.hash, hashOf(secret));
    if (!isGood || performance.now() > this.endsAt) {
      throw new Problem('api_key_unknown', 'The link works once, and for 5 minutes. Sign in with an API key.');
    }
    this.hash = undefined;
    const description = 'Console, by the link of the start';
    return (await createOperatorKey(this.pool, this.changes, { description, endsInMs: KEY_ENDS_IN_MS })).token;
  }
}

const hashOf = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** A page of another origin, another machine and whoever comes through a proxy are not at this terminal. */
function refuseOthers({ headers, socket }: FastifyRequest): void {
  const { host = '', origin } = headers;
  const isHere =
    LOOPBACK.test(socket.remoteAddress ?? '') &&
    LOOPBACK_HOST.test(host) &&
    origin === `http://${host}` &&
    !isPassedOn(headers);
  if (isHere) return;
  throw new Problem('role_missing', 'The link works only in a browser of the machine that runs the service.');
}
