import { Controller, Param, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { malformed } from '../../kernel/problem.js';
import { ApiCreate, ApiTag } from '../http/openapi/decorators.js';
import { ID, IF_MATCH } from '../http/openapi/parts.js';
import { Context, type RequestContext } from '../http/request-context.js';
import { Body, Read, Text } from '../http/validated-body.js';
import { RotateSshCredential } from './rotate-credential.js';
import { PUBLIC_KEY, SSH_CREDENTIALS, SshCredentialResource } from './ssh-credentials.resource.js';

/** Nobody brings a new key to a machine for longer than a month. */
const MAX_OVERLAP_SECONDS = 30 * 86_400;

function readOverlap(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_OVERLAP_SECONDS) return value;
  throw malformed(`overlap_seconds must be a whole number from 0 to ${MAX_OVERLAP_SECONDS}.`);
}

class RotateSshCredentialBody {
  @Text({
    ...PUBLIC_KEY,
    required: true,
    example: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDZh3flSVNohC0nJh+pRVniKhtZ+VpW89wV744UJLdIL ada@example.com',
  })
  public_key?: string;
  @Read(
    {
      description: 'How long both keys work, in seconds. 0 ends the old credential at once.',
      type: 'integer',
      minimum: 0,
      maximum: MAX_OVERLAP_SECONDS,
      required: true,
      example: 86_400,
    },
    readOverlap,
  )
  overlap_seconds!: number;
}

/** A new key for an old one. */
@ApiTag('SSH credentials', 'sshcr')
@Controller(SSH_CREDENTIALS.path)
export class CredentialRotationController {
  constructor(private readonly commands: CommandBus) {}

  @Post(':id/rotate')
  @ApiCreate(SshCredentialResource, {
    id: 'rotateSshCredential',
    summary: 'Replace the key of an SSH credential',
    description:
      'Creates a credential with the new key and all else of the old one, which expires after the overlap, or earlier if ' +
      'it would have. `If-Match` is about the old one.',
    problems: [
      ...([
        'public_key_missing',
        'public_key_invalid',
        'public_key_already_used',
        'public_key_used_elsewhere',
      ] as const),
      ...(['owner_inactive', 'not_found', 'precondition_failed'] as const),
    ],
    parameters: [ID, IF_MATCH],
  })
  rotate(@Context() context: RequestContext, @Param('id') id: string, @Body() body: RotateSshCredentialBody) {
    return this.commands.execute(new RotateSshCredential(context, id, body));
  }
}
