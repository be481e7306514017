import { Controller, Get, Header, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Evidence } from '../../../event-log/index.js';
import { malformed, quoted } from '../../../kernel/problem.js';
import { ApiAccountAnswer, ApiField, ApiTag } from '../../http/openapi/decorators.js';
import { type ParameterOf, queryParameter } from '../../http/openapi/parts.js';
import { lastOf } from '../../http/pages.js';
import { callerOf } from '../../http/request-context.js';

const TEXT = 'text/plain; charset=utf-8';
const PLAIN_TEXT = { contentType: 'text/plain' };
const BYTES = 'application/octet-stream';

const count = (name: string, description: string): ParameterOf =>
  queryParameter(name, description, { type: 'integer', minimum: 0, examples: [1] }, { required: true });

const KNOWN = queryParameter(
  'known',
  'A checkpoint that you kept. If the service has signed it, and its log does not continue it, it raises an alarm.',
  { type: 'string' },
);

const TILE: ParameterOf = ({ ApiParam }) =>
  ApiParam({
    name: 'path',
    description: 'Level and index of the tile, and its width if it is not full.',
    schema: { type: 'string', examples: ['0/000.p/1', '0/x001/067'] },
  });

class ConsistencyResource {
  @ApiField({ description: 'Size of the older log.', example: 1 }) from!: number;
  @ApiField({ description: 'Size of the newer log.', example: 3 }) to!: number;
  @ApiField({
    description: 'The hashes of the proof (RFC 6962, 2.1.2), in base64.',
    type: 'array',
    items: { type: 'string' },
    example: ['bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0='],
  })
  proof!: readonly string[];
}

/** The evidence for the account's log: signed checkpoints of its Merkle tree, and proofs. */
@ApiTag('Evidence')
@Controller('log')
export class EvidenceController {
  constructor(private readonly evidence: Evidence) {}

  @Get('key')
  @Header('content-type', TEXT)
  @ApiAccountAnswer(PLAIN_TEXT, {
    id: 'getLogKey',
    summary: 'Get the public key of the checkpoints',
    description: 'In the form of c2sp.org/signed-note: `name+id+key`.',
    problems: ['not_found'],
  })
  key(@Req() request: FastifyRequest): string {
    return this.evidence.verifierKey(callerOf(request).accountId);
  }

  @Get('checkpoint')
  @Header('content-type', TEXT)
  @ApiAccountAnswer(
    PLAIN_TEXT,
    {
      id: 'getLogCheckpoint',
      summary: 'Get the newest checkpoint of the log',
      description: 'In the form of c2sp.org/tlog-checkpoint. A change is in it about a second after its answer.',
      problems: ['request_malformed', 'not_found'],
    },
    KNOWN,
  )
  checkpoint(@Req() request: FastifyRequest, @Query() query: Record<string, unknown>): Promise<string> {
    return this.evidence.checkpoint(callerOf(request).accountId, lastOf(query.known));
  }

  @Get('tile/*')
  @Header('content-type', BYTES)
  @ApiAccountAnswer(
    { contentType: BYTES },
    {
      id: 'getLogTile',
      summary: 'Get a tile of the Merkle tree',
      description: 'In the form of c2sp.org/tlog-tiles. Level 0 has the leaf hashes of the events.',
      problems: ['not_found'],
    },
    TILE,
  )
  tile(@Req() request: FastifyRequest): Promise<Buffer> {
    const { '*': path = '' } = request.params as Record<string, string>;
    return this.evidence.tile(callerOf(request).accountId, path);
  }

  @Get('proof')
  @Header('content-type', TEXT)
  @ApiAccountAnswer(
    PLAIN_TEXT,
    {
      id: 'getLogProof',
      summary: 'Prove that an event is in the log',
      description:
        'In the form of c2sp.org/tlog-proof, with the newest checkpoint. `Log-Position` of the answer to a change is its position.',
      problems: ['request_malformed', 'not_found'],
    },
    count('position', 'Log position of the event.'),
  )
  proof(@Req() request: FastifyRequest, @Query() query: Record<string, unknown>): Promise<string> {
    return this.evidence.proof(callerOf(request).accountId, readCount(query, 'position'));
  }

  @Get('consistency')
  @ApiAccountAnswer(
    ConsistencyResource,
    {
      id: 'getLogConsistency',
      summary: 'Prove that the log has only grown',
      description: 'Proves that the log of `from` events is the beginning of that of `to` events.',
      problems: ['request_malformed', 'not_found'],
    },
    count('from', 'Size of the older log, as its checkpoint has it.'),
    count('to', 'Size of the newer log.'),
  )
  async consistency(
    @Req() request: FastifyRequest,
    @Query() query: Record<string, unknown>,
  ): Promise<ConsistencyResource> {
    const [from, to] = [readCount(query, 'from'), readCount(query, 'to')];
    return { from, to, proof: await this.evidence.consistency(callerOf(request).accountId, from, to) };
  }
}

/** Reads a position or size of a query. Throws Problem unless it is a whole number. */
function readCount(query: Readonly<Record<string, unknown>>, name: string): number {
  const value = query[name];
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  const given = typeof value === 'string' && value !== '' ? `${quoted(value)} is not` : 'is missing; send';
  throw malformed(`${name} ${given} a whole number.`);
}
