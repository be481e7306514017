import { Controller, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { RouteConfig } from '../http/documentation.js';
import { ApiCreate, ApiTag } from '../http/openapi/decorators.js';
import { Context, type RequestContext } from '../http/request-context.js';
import { Body } from '../http/validated-body.js';
import { EnrollBody, EnrolledResource } from './enroll.resource.js';
import { EnrollDevice } from './enroll-device.js';

@ApiTag('Enrollment keys', 'enk')
@Controller('enroll')
export class EnrollController {
  constructor(private readonly commands: CommandBus) {}

  @Post()
  @RouteConfig({ isForEnrollment: true })
  @ApiCreate(EnrolledResource, {
    id: 'enroll',
    summary: 'Enrol a device',
    description:
      'With an enrollment key as bearer. The same name and key again get the same answer and use nothing up. ' +
      'A name with another key is 409, unless the enrollment key is for this name: then the credential is replaced.',
    problems: [
      ...([
        'public_key_missing',
        'public_key_invalid',
        'public_key_already_used',
        'public_key_used_elsewhere',
      ] as const),
      ...(['owner_inactive', 'acl_rule_invalid', 'conflict'] as const),
    ],
  })
  enroll(@Context() context: RequestContext, @Body() body: EnrollBody) {
    return this.commands.execute(new EnrollDevice(context, body));
  }
}
