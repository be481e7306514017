import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { Context, type RequestContext } from '../http/request-context.js';
import { omitUndefined } from '../omit-undefined.js';
import { HistoryResource } from '../resources/history.resource.js';
import { Mutations } from '../resources/mutation.js';
import { refuseOtherPlace } from '../resources/read-only-fields.js';
import { Logs, Read, type ReadRequest } from '../resources/resource.js';
import { CreateSshCredential, DeleteSshCredential, UpdateSshCredential } from './ssh-credentials.commands.js';
import { SshCredentials, sshCredentialsReadModel } from './ssh-credentials.read-model.js';
import {
  CreateSshCredentialBody,
  PATH,
  SshCredentialResource,
  sshCredentialReads,
  toResource,
  UpdateSshCredentialBody,
} from './ssh-credentials.resource.js';

const TOO_LONG = ['ssh_credential_description_too_long', 'ssh_credential_metadata_too_long'] as const;

@ApiTag('SSH credentials', 'sshcr')
@Controller(PATH)
export class SshCredentialsController {
  private readonly reads: ReturnType<typeof sshCredentialReads>;

  constructor(
    private readonly mutations: Mutations,
    credentials: SshCredentials,
    logs: Logs,
  ) {
    this.reads = sshCredentialReads(credentials, logs);
  }

  @Post()
  @ApiCreate(SshCredentialResource, {
    id: 'createSshCredential',
    summary: 'Create an SSH credential',
    problems: [
      'public_key_missing',
      'public_key_invalid',
      'acl_rule_invalid',
      ...TOO_LONG,
      'owner_inactive',
      'owner_not_yours',
      'public_key_already_used',
      'public_key_used_elsewhere',
    ],
  })
  async create(
    @Context() context: RequestContext,
    @Body() body: CreateSshCredentialBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { public_key: publicKey, owner_id: ownerId, ...same } = body;
    const input = omitUndefined({ ...same, publicKey, ownerId });
    return this.execute(new CreateSshCredential(context, input), context, reply);
  }

  @Get()
  @ApiList(SshCredentialResource, PATH, { id: 'listSshCredentials', summary: 'List SSH credentials' })
  list(@Read() asked: ReadRequest) {
    return this.reads.list(asked);
  }

  @Get(':id')
  @ApiGet(SshCredentialResource, {
    id: 'getSshCredential',
    summary: 'Get an SSH credential',
    problems: ['not_found'],
  })
  get(@Read() asked: ReadRequest, @Param('id') id: string) {
    return this.reads.get(asked, id);
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, {
    id: 'getSshCredentialHistory',
    summary: 'Get the history of an SSH credential',
    problems: ['not_found', 'role_missing'],
  })
  history(@Read() asked: ReadRequest, @Param('id') id: string) {
    return this.reads.history(asked, id);
  }

  @Patch(':id')
  @ApiUpdate(SshCredentialResource, {
    id: 'updateSshCredential',
    summary: 'Update an SSH credential',
    description: 'What is absent or null stays as it is; an empty text or list clears.',
    problems: ['acl_rule_invalid', ...TOO_LONG, 'role_missing', 'not_found'],
  })
  async update(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Body() body: UpdateSshCredentialBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    refuseOtherPlace(body, PATH, id);
    const { description, metadata, acl, public_key: publicKey, owner_id: ownerId, created_at: createdAt } = body;
    const input = omitUndefined({ description, metadata, acl, publicKey, ownerId, createdAt });
    return this.execute(new UpdateSshCredential(context, id, input), context, reply);
  }

  @Delete(':id')
  @ApiDelete({
    id: 'deleteSshCredential',
    summary: 'Delete an SSH credential',
    problems: ['role_missing', 'not_found'],
  })
  @HttpCode(204)
  async delete(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    await this.execute(new DeleteSshCredential(context, id), context, reply);
  }

  private async execute(
    command: CreateSshCredential | UpdateSshCredential | DeleteSshCredential,
    context: RequestContext,
    reply: FastifyReply,
  ) {
    const { entity } = await this.mutations.execute(sshCredentialsReadModel, command, reply);
    return entity === undefined ? undefined : toResource(entity, context.baseUrl);
  }
}
