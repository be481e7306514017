import { Body, Controller, Get, Header, HttpCode, Post, Query, Req } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { ApiGatewayAnswer, ApiTag } from '../http/openapi/decorators.js';
import type { ParameterOf } from '../http/openapi/parts.js';
import { ipOf } from '../http/request-context.js';
import { Problem } from '../problem.js';
import { parseHostport } from '../tcp-edges/hostport.js';
import { GatewayAnswers } from './gateway-answers.js';
import { keyAskedFor, parameter, readFingerprint, targetsAskedFor } from './question.js';
import {
  AuthorizeBody,
  DecisionAnswer,
  DecisionAnswers,
  FINGERPRINT,
  IdentifiedKey,
  IdentifyBody,
  ListedEdges,
  RECHECK_SCHEMA,
  RecheckAnswer,
  RecheckBody,
  toAnswer,
} from './ssh-gateway.resource.js';

/** These routes know no account: a gateway serves all of them, and asks with a token of the deployment. */
const FOR_GATEWAYS = { isForGateways: true };

const KEY_PROBLEMS = ['request_malformed', 'public_key_missing', 'public_key_invalid'] as const;

const queryParameter =
  (name: string, description: string, example: string): ParameterOf =>
  ({ ApiQuery }) =>
    ApiQuery({ name, description, required: true, schema: { type: 'string', examples: [example] } });

@ApiTag('SSH gateways')
@Controller('ssh_gateway')
export class SshGatewayController {
  constructor(private readonly answers: GatewayAnswers) {}

  @Post('identify')
  @HttpCode(200)
  @RouteConfig(FOR_GATEWAYS)
  @ApiGatewayAnswer(IdentifiedKey, {
    id: 'identifyKey',
    summary: 'Ask whose key this is',
    problems: [...KEY_PROBLEMS, 'not_found'],
  })
  async identify(@Body() { public_key, fingerprint }: IdentifyBody): Promise<IdentifiedKey> {
    return (await this.answers.identify(keyAskedFor(public_key, fingerprint))) ?? unknownKey();
  }

  @Post('authorize')
  @HttpCode(200)
  @RouteConfig(FOR_GATEWAYS)
  @ApiGatewayAnswer(
    { anyOf: [DecisionAnswer, DecisionAnswers] },
    {
      id: 'authorizeBind',
      summary: 'Ask whether a key may bind a target',
      description:
        'A refusal is an answer like any other. For a list of targets the answer is `decisions`, one for each.',
      problems: KEY_PROBLEMS,
    },
  )
  async authorize(
    @Body() { public_key, fingerprint, target, source }: AuthorizeBody,
    @Req() request: FastifyRequest,
  ): Promise<DecisionAnswer | DecisionAnswers> {
    const { targets, isList } = targetsAskedFor(target);
    const key = keyAskedFor(public_key, fingerprint);
    const decisions = await this.answers.authorize(key, targets, { gateway: ipOf(request), source });
    const [first] = decisions;
    return isList || first === undefined ? { decisions: decisions.map(toAnswer) } : toAnswer(first);
  }

  @Post('recheck')
  @HttpCode(200)
  @RouteConfig(FOR_GATEWAYS)
  @ApiGatewayAnswer(RecheckAnswer, {
    id: 'recheckCredentials',
    summary: 'Ask which credentials are not as they were',
    description: 'Asked every second for the tunnels that are open, it tells within a second which to close.',
    problems: ['request_malformed'],
    body: RECHECK_SCHEMA,
  })
  async recheck(@Body() { credentials }: RecheckBody): Promise<RecheckAnswer> {
    return { changed: await this.answers.changedSince(credentials) };
  }

  @Get('authorized_keys')
  @RouteConfig(FOR_GATEWAYS)
  @Header('content-type', 'text/plain; charset=utf-8')
  @ApiGatewayAnswer(
    { contentType: 'text/plain' },
    {
      id: 'getAuthorizedKeys',
      summary: "Answer sshd's AuthorizedKeysCommand",
      parameters: [
        queryParameter('type', 'Of the key: what sshd puts in the place of %t.', 'ssh-ed25519'),
        queryParameter('fingerprint', 'Of the key: what sshd puts in the place of %f.', FINGERPRINT.example),
      ],
      problems: ['request_malformed', 'not_found'],
    },
  )
  async authorizedKeys(@Query() query: Record<string, unknown>): Promise<string> {
    const type = parameter(query, 'type');
    const line = await this.answers.authorizedKeysLine(type, readFingerprint(parameter(query, 'fingerprint')));
    return line === undefined ? unknownKey() : `${line}\n`;
  }

  @Get('edges')
  @RouteConfig(FOR_GATEWAYS)
  @ApiGatewayAnswer(ListedEdges, {
    id: 'findEdges',
    summary: 'Ask which TCP edges list a hostport',
    parameters: [queryParameter('hostport', 'As `host:port`, in any spelling.', '1.tcp.example.com:20000')],
    problems: ['request_malformed', 'hostport_malformed', 'hostport_port_out_of_range'],
  })
  async edges(@Query() query: Record<string, unknown>, @Req() { baseUrl }: FastifyRequest): Promise<ListedEdges> {
    const { canonical } = parseHostport(parameter(query, 'hostport'), 'hostport');
    return { edges: await this.answers.edgesAt(canonical, baseUrl) };
  }
}

/** Nothing tells an unknown key from one whose owners are all inactive: it opens nothing. */
function unknownKey(): never {
  throw new Problem('not_found', 'Resource not found');
}
