import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import { eventLoop } from '../../../kernel/event-loop.js';
import { malformed } from '../../../kernel/problem.js';
import { parseAcl, parseCidrs } from '../../../rules/index.js';
import { RouteConfig } from '../../http/documentation.js';
import { ApiCheck, ApiTag } from '../../http/openapi/decorators.js';
import { ID } from '../../http/openapi/parts.js';
import { Read, type ReadRequest } from '../../http/request-context.js';
import { Body } from '../../http/validated-body.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import { foundIn, Reads } from '../../resources/reads.js';
import { SSH_CREDENTIALS } from '../../ssh-credentials/ssh-credentials.resource.js';
import { readTargets } from '../binds/gateway-requests.js';
import type { BindDecision } from '../decisions/bind-decision.js';
import { NOT_CONSIDERED_OF_CREDENTIALS } from './as-of.resource.js';
import { CheckLimit } from './check-limit.js';
import {
  AclCheckBody,
  BindCheck,
  BindChecks,
  CredentialCheckBody,
  toChecks,
  withoutSource,
} from './checks.resource.js';
import { CredentialCheck } from './credential-check.js';

const ANSWER = { anyOf: [BindCheck, BindChecks] };

/**
 * Questions that a caller asks before a tunnel opens. They change nothing, so they take no Idempotency-Key and every
 * caller may ask them.
 */
@ApiTag('Checks', 'sshcr')
@Controller()
export class ChecksController {
  constructor(
    private readonly entities: EntityQueries,
    private readonly credentialCheck: CredentialCheck,
    private readonly limit: CheckLimit,
    private readonly reads: Reads,
  ) {}

  @Post(`${SSH_CREDENTIALS.path}/:id/check`)
  @HttpCode(200)
  @RouteConfig({ onlyReads: true })
  @ApiCheck(ANSWER, {
    id: 'checkSshCredential',
    summary: 'Ask whether an SSH credential would permit a tunnel',
    description:
      'Answers what a gateway would decide if the key had this credential alone, and records nothing. ' +
      'A refusal has status 200. A list of targets is answered with `decisions`.',
    problems: ['not_found', 'too_many_requests', 'conflict', 'event_unreadable'],
    parameters: [ID],
  })
  checkCredential(
    @Read() request: ReadRequest,
    @Param('id') id: string,
    @Body() { target, source, as_of }: CredentialCheckBody,
  ): Promise<BindCheck | BindChecks> {
    const shown = shownTo(source);
    if (as_of !== undefined) {
      return this.reads.asOf(request, as_of, async (past) => {
        const { targets, isList } = readTargets(target);
        const credential = await foundIn(past, SSH_CREDENTIALS, id);
        const decisions = await this.credentialCheck.decidePast(past, credential, targets, source);
        return toChecks(decisions.map(shown), isList, { not_considered: NOT_CONSIDERED_OF_CREDENTIALS });
      });
    }
    return this.limit.run(request, async () => {
      const { targets, isList } = readTargets(target);
      const ref = { accountId: request.caller.accountId, id };
      const credential = await this.entities.find(SSH_CREDENTIALS, ref);
      if (credential === undefined) throw SSH_CREDENTIALS.notFound();
      const decisions = await this.credentialCheck.decide(ref, credential.fingerprint, targets, source);
      return toChecks(decisions.map(shown), isList);
    });
  }

  @Post('acl/check')
  @HttpCode(200)
  @RouteConfig({ onlyReads: true })
  @ApiCheck(ANSWER, {
    id: 'checkAcl',
    summary: 'Ask whether rules would permit a tunnel',
    description:
      'Answers for the rules and networks of the body and for what the account has reserved. A refusal has status 200. A list of targets is answered with `decisions`.',
    problems: ['acl_rule_invalid', 'too_many_requests'],
  })
  checkAcl(
    @Read() request: ReadRequest,
    @Body() { acl, target, source, source_cidrs }: AclCheckBody,
  ): Promise<BindCheck | BindChecks> {
    if (acl === undefined) throw malformed('acl is missing; [] permits everything.');
    return this.limit.run(request, async () => {
      const { accountId } = request.caller;
      const rules = {
        acl: await eventLoop.run([accountId], () => parseAcl(acl)),
        sources: source_cidrs && parseCidrs(source_cidrs, 'source_cidrs'),
      };
      const { targets, isList } = readTargets(target);
      const decisions = await this.credentialCheck.decideRules(accountId, rules, targets, source);
      return toChecks(decisions.map(shownTo(source)), isList);
    });
  }
}

/** Who asks without a source has forgotten it: a gateway always names one. */
const shownTo = (source: string | undefined) => (decision: BindDecision) =>
  (source ?? '') === '' ? withoutSource(decision) : decision;
