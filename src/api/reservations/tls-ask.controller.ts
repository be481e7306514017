import { Controller, Get, Header, Inject, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { coalesced, onPrimary, POOL, PostgresFailure, queryNamed } from '../../database/index.js';
import { Problem } from '../../kernel/problem.js';
import { canonicalName, contains, type Network, ParseError, parseAddress } from '../../rules/index.js';
import { RouteConfig } from '../http/documentation.js';
import { ApiPublic, ApiTag } from '../http/openapi/decorators.js';
import { queryParameter } from '../http/openapi/parts.js';
import { isPassedOn } from '../http/trusted-proxies.js';
import { ReservationPolicy } from './address-pools.js';

/** Names that were known when they were last asked about. A proxy asks about each of its names again and again. */
const MAX_KEPT = 10_000;

/** The operator's settings for this question. */
export abstract class TlsAskPolicy {
  abstract readonly tlsAskFrom: readonly Network[];
}

interface Asked {
  readonly name: string;
}

/** $1: names; $2: for each the digits of a credential that it is given to, or null. */
const KNOWN = onPrimary({
  name: 'names_with_certificates',
  text: `select a.name from unnest($1::text[], $2::text[]) as a(name, digits)
    where exists (select from reserved_domains d where d.domain = a.name)
      or exists (select from ssh_credentials c where left(encode(sha256(c.id::bytea), 'hex'), 15) = a.digits)`,
});

/** Says to a proxy for which names it may get a certificate: those that stay, whoever binds what. */
@ApiTag('Health')
@Controller()
export class TlsAskController {
  private readonly known = new Set<string>();

  constructor(
    @Inject(POOL) private readonly pool: Pool,
    private readonly policy: ReservationPolicy,
    private readonly asking: TlsAskPolicy,
  ) {}

  @Get('tls_ask')
  @RouteConfig({ isPublic: true })
  @Header('content-type', 'text/plain; charset=utf-8')
  @ApiPublic(
    'text/plain',
    {
      id: 'askTls',
      summary: 'Tell a proxy of `TLS_ASK_FROM` whether a name may have a certificate',
      description: 'Reserved domains, but no wildcards, and given names may.',
      problems: ['not_found', 'overloaded'],
    },
    queryParameter('domain', 'The name.', { type: 'string', examples: ['app.example.com'] }, { required: true }),
  )
  async ask(@Query('domain') domain: unknown, @Req() request: FastifyRequest): Promise<string> {
    const name = this.isDirect(request) ? nameIn(domain) : undefined;
    if (name === undefined || !(await this.isKnown(name))) throw new Problem('not_found', 'Resource not found');
    return 'ok\n';
  }

  /** Whoever can ask through a proxy could learn which names there are. */
  private isDirect({ raw: { socket, headers } }: FastifyRequest): boolean {
    const address = parseAddress(socket.remoteAddress ?? '');
    const isPeer = address !== undefined && contains(this.asking.tlsAskFrom, address);
    return isPeer && !isPassedOn(headers);
  }

  /** While the database is away, as it was at the last answer. */
  private async isKnown(name: string): Promise<boolean> {
    try {
      const isKnown = (await this.find(name)) !== undefined;
      this.known.delete(name);
      if (isKnown) this.known.add(name);
      const [oldest] = this.known;
      if (this.known.size > MAX_KEPT && oldest !== undefined) this.known.delete(oldest);
      return isKnown;
    } catch (error) {
      if (!PostgresFailure.of(error).isConnectionLoss) throw error;
      if (this.known.has(name)) return true;
      throw new Problem('overloaded', 'The database does not answer, and the name was not asked about before.');
    }
  }

  private readonly find = coalesced<Asked>(async (names) => {
    const digits = names.map((name) => this.policy.tunnelDomain?.digitsOf(name) ?? null);
    const { rows } = await queryNamed<Asked & object>(this.pool, KNOWN, [names, digits]);
    return new Map(rows.map((row) => [row.name, row]));
  });
}

function nameIn(domain: unknown): string | undefined {
  try {
    return typeof domain === 'string' ? canonicalName(domain) : undefined;
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    return undefined;
  }
}
