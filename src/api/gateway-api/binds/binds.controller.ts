import { Controller, Get, Header, HttpCode, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../../../kernel/problem.js';
import { readFingerprint } from '../../../rules/index.js';
import { RouteConfig } from '../../http/documentation.js';
import { ApiGatewayAnswer, ApiTag } from '../../http/openapi/decorators.js';
import { gatewayOf, ipOf } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { FINGERPRINT } from '../../ssh-credentials/ssh-credentials.resource.js';
import {
  AuthorizeBody,
  BindDecisionAnswer,
  BindDecisionAnswers,
  IdentifiedKey,
  IdentifyBody,
  RECHECK_SCHEMA,
  RecheckAnswer,
  RecheckBody,
  requiredParameter,
  toAnswer,
} from './binds.resource.js';
import { GatewayAnswers } from './gateway-answers.js';
import { readAskedTargets, readKey, readRequiredParameter } from './gateway-requests.js';

/** A gateway serves all accounts and authenticates with a token of the deployment, so these routes have no account. */
const FOR_GATEWAYS = { isForGateways: true };

const KEY_PROBLEMS = ['request_malformed', 'public_key_missing', 'public_key_invalid'] as const;

@ApiTag('SSH gateways')
@Controller('ssh_gateway')
export class BindsController {
  constructor(private readonly answers: GatewayAnswers) {}

  @Post('identify')
  @HttpCode(200)
  @RouteConfig(FOR_GATEWAYS)
  @ApiGatewayAnswer(IdentifiedKey, {
    id: 'identifyKey',
    summary: 'Identify the account and credentials of a key',
    problems: [...KEY_PROBLEMS, 'not_found'],
  })
  async identify(
    @Body() { public_key, fingerprint }: IdentifyBody,
    @Req() request: FastifyRequest,
  ): Promise<IdentifiedKey> {
    return (await this.answers.identify(gatewayOf(request), readKey(public_key, fingerprint))) ?? unknownKey();
  }

  @Post('authorize')
  @HttpCode(200)
  @RouteConfig(FOR_GATEWAYS)
  @ApiGatewayAnswer(
    { anyOf: [BindDecisionAnswer, BindDecisionAnswers] },
    {
      id: 'authorizeBind',
      summary: 'Decide whether a key may bind a target',
      description:
        'A refusal is answered with status 200 too. A list of targets is answered with `decisions`, one for each target.',
      problems: KEY_PROBLEMS,
    },
  )
  async authorize(
    @Body() { public_key, fingerprint, target, source, repeated = false }: AuthorizeBody,
    @Req() request: FastifyRequest,
  ): Promise<BindDecisionAnswer | BindDecisionAnswers> {
    const { targets, isList } = readAskedTargets(target);
    const key = readKey(public_key, fingerprint);
    const decisions = await this.answers.authorize(gatewayOf(request), key, targets, {
      address: ipOf(request),
      source,
      isRepeated: repeated,
    });
    const [first] = decisions;
    return isList || first === undefined ? { decisions: decisions.map(toAnswer) } : toAnswer(first);
  }

  @Post('recheck')
  @HttpCode(200)
  @RouteConfig(FOR_GATEWAYS)
  @ApiGatewayAnswer(RecheckAnswer, {
    id: 'recheckCredentials',
    summary: 'Find out which credentials have changed',
    description:
      'A gateway that rechecks the credentials of its open tunnels every second learns within a second which tunnels to close. ' +
      'The body is the list of credentials, or an object with it as `credentials`.',
    problems: ['request_malformed'],
    body: RECHECK_SCHEMA,
  })
  recheck(@Body() { held }: RecheckBody, @Req() request: FastifyRequest): Promise<RecheckAnswer> {
    return this.answers.recheck(gatewayOf(request), held);
  }

  @Get('authorized_keys')
  @RouteConfig(FOR_GATEWAYS)
  @Header('content-type', 'text/plain; charset=utf-8')
  @ApiGatewayAnswer(
    { contentType: 'text/plain' },
    {
      id: 'getAuthorizedKeys',
      summary: "Get a key's lines for sshd's AuthorizedKeysCommand",
      description: 'The answer has one line, and one more for each source restriction of the credentials of the key.',
      parameters: [
        requiredParameter('type', 'Type of the key. sshd substitutes it for %t.', 'ssh-ed25519'),
        requiredParameter('fingerprint', 'Fingerprint of the key. sshd substitutes it for %f.', FINGERPRINT.example),
      ],
      problems: ['request_malformed', 'not_found'],
    },
  )
  async authorizedKeys(@Query() query: Record<string, unknown>, @Req() request: FastifyRequest): Promise<string> {
    const type = readRequiredParameter(query, 'type');
    const fingerprint = readFingerprint(readRequiredParameter(query, 'fingerprint'));
    return (await this.answers.authorizedKeys(gatewayOf(request), type, fingerprint)) ?? unknownKey();
  }
}

/** The answer is the same for an unknown key and for a key without a live credential: neither grants access. */
function unknownKey(): never {
  throw new Problem('not_found', 'Resource not found');
}
