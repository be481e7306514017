import { Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { UNVERSIONED_HEADERS } from '../http/openapi/response-headers.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { Body } from '../http/validated-body.js';
import { HistoryResource } from '../resources/history.resource.js';
import { Reads } from '../resources/reads.js';
import { CredentialInclusions, FoundWith, INCLUDE } from './credential-inclusions.js';
import { CreateSshCredential, DeleteSshCredential, UpdateSshCredential } from './ssh-credentials.handlers.js';
import {
  CreateSshCredentialBody,
  LIST_PARAMETERS,
  SSH_CREDENTIALS,
  SshCredentialResource,
  UpdateSshCredentialBody,
} from './ssh-credentials.resource.js';

const FIELD_PROBLEMS = [
  'acl_rule_invalid',
  'ssh_credential_description_too_long',
  'ssh_credential_metadata_too_long',
] as const;
const OWNER_PROBLEMS = ['owner_inactive', 'owner_not_yours'] as const;
const KEY_PROBLEMS = ['public_key_missing', 'public_key_invalid'] as const;
const USED_KEY_PROBLEMS = ['public_key_already_used', 'public_key_used_elsewhere'] as const;
const ACCESS_PROBLEMS = ['role_missing', 'not_found'] as const;

@ApiTag('SSH credentials', 'sshcr')
@Controller(SSH_CREDENTIALS.path)
export class SshCredentialsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
    private readonly inclusions: CredentialInclusions,
  ) {}

  @Post()
  @ApiCreate(SshCredentialResource, {
    id: 'createSshCredential',
    summary: 'Create an SSH credential',
    problems: [...KEY_PROBLEMS, ...FIELD_PROBLEMS, ...OWNER_PROBLEMS, ...USED_KEY_PROBLEMS],
  })
  create(@Context() context: RequestContext, @Body() body: CreateSshCredentialBody) {
    return this.commands.execute(new CreateSshCredential(context, body));
  }

  @Get()
  @ApiList(SshCredentialResource, SSH_CREDENTIALS.path, {
    id: 'listSshCredentials',
    summary: 'List SSH credentials',
    parameters: [...LIST_PARAMETERS, INCLUDE],
    problems: ['acl_rule_invalid'],
    creation: [CreateSshCredentialBody],
  })
  list(@Read() request: ReadRequest) {
    return this.reads.list(SSH_CREDENTIALS, request, this.inclusions.of(request));
  }

  @Get(':id')
  @ApiGet(SshCredentialResource, {
    id: 'getSshCredential',
    summary: 'Get an SSH credential',
    problems: ['not_found'],
    parameters: [INCLUDE],
    headers: UNVERSIONED_HEADERS,
  })
  async get(@Read() request: ReadRequest, @Param('id') id: string) {
    const inclusion = this.inclusions.of(request);
    const found = await this.reads.get(SSH_CREDENTIALS, request, id);
    return inclusion === undefined ? found : new FoundWith(found, await inclusion.fieldsOf(found.entity));
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, 'SshCredential', 'an SSH credential')
  history(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.history(SSH_CREDENTIALS, request, id);
  }

  @Patch(':id')
  @ApiUpdate(SshCredentialResource, {
    id: 'updateSshCredential',
    summary: 'Update an SSH credential',
    description: 'An absent or null field stays as it is; an empty text or list clears.',
    problems: [...FIELD_PROBLEMS, ...ACCESS_PROBLEMS],
  })
  update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: UpdateSshCredentialBody) {
    return this.commands.execute(new UpdateSshCredential(context, id, body));
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiDelete({ id: 'deleteSshCredential', summary: 'Delete an SSH credential', problems: ACCESS_PROBLEMS })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteSshCredential(context, id));
  }
}
