import { Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag } from '../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { Body } from '../http/validated-body.js';
import { HistoryResource } from '../resources/history.resource.js';
import { Reads } from '../resources/reads.js';
import { CreateEnrollmentKey, DeleteEnrollmentKey } from './enrollment-keys.handlers.js';
import { CreateEnrollmentKeyBody, ENROLLMENT_KEYS, EnrollmentKeyResource } from './enrollment-keys.resource.js';

@ApiTag('Enrollment keys', 'enk')
@Controller(ENROLLMENT_KEYS.path)
export class EnrollmentKeysController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Post()
  @ApiCreate(EnrollmentKeyResource, {
    id: 'createEnrollmentKey',
    summary: 'Create an enrollment key',
    description: 'For admins.',
    problems: ['acl_rule_invalid', 'owner_inactive', 'owner_not_yours'],
  })
  create(@Context() context: RequestContext, @Body() body: CreateEnrollmentKeyBody) {
    return this.commands.execute(new CreateEnrollmentKey(context, body));
  }

  @Get()
  @ApiList(EnrollmentKeyResource, ENROLLMENT_KEYS.path, {
    id: 'listEnrollmentKeys',
    summary: 'List enrollment keys',
    creation: [CreateEnrollmentKeyBody],
  })
  list(@Read() request: ReadRequest) {
    return this.reads.list(ENROLLMENT_KEYS, request);
  }

  @Get(':id')
  @ApiGet(EnrollmentKeyResource, {
    id: 'getEnrollmentKey',
    summary: 'Get an enrollment key',
    problems: ['not_found'],
  })
  get(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.get(ENROLLMENT_KEYS, request, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, 'EnrollmentKey', 'an enrollment key')
  history(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.history(ENROLLMENT_KEYS, request, id);
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteEnrollmentKey',
    summary: 'Delete an enrollment key',
    description: 'It is refused from the next request on. The credentials that it made stay.',
    problems: ['not_found'],
  })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteEnrollmentKey(context, id));
  }
}
