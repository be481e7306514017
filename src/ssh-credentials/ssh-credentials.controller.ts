import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { given } from '../given.js';
import { tellVersion } from '../http/conditions.js';
import { Mutations } from '../http/mutation.js';
import { Changes, Creates, Deletes, Gets, Lists, Topic } from '../http/openapi.js';
import { pageOf, readPageRequest } from '../http/page.js';
import { Context, type RequestContext } from '../http/request-context.js';
import { refuseOtherPlace } from '../read-only-fields.js';
import { notFound } from './ssh-credential.js';
import { CreateSshCredential, DeleteSshCredential, UpdateSshCredential } from './ssh-credentials.commands.js';
import { SshCredentials, sshCredentialsReadModel } from './ssh-credentials.read-model.js';
import {
  CreateSshCredentialBody,
  PATH,
  SshCredentialResource,
  toResource,
  UpdateSshCredentialBody,
} from './ssh-credentials.resource.js';

const TOO_LONG = ['ssh_credential_description_too_long', 'ssh_credential_metadata_too_long'] as const;

@Topic('SSH credentials', 'sshcr')
@Controller(PATH)
export class SshCredentialsController {
  constructor(
    private readonly mutations: Mutations,
    private readonly credentials: SshCredentials,
  ) {}

  @Post()
  @Creates(SshCredentialResource, {
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
    const input = given({ ...same, publicKey, ownerId });
    return this.execute(new CreateSshCredential(context, input), context, reply);
  }

  @Get()
  @Lists(SshCredentialResource, PATH, { id: 'listSshCredentials', summary: 'List SSH credentials' })
  async list(@Context() { caller, baseUrl }: RequestContext, @Query() query: Record<string, unknown>) {
    const page = readPageRequest(query, 'sshcr');
    const found = await this.credentials.list(caller.accountId, page);
    return pageOf(PATH, `${baseUrl}/${PATH}`, page, found, (entity) => toResource(entity, baseUrl));
  }

  @Get(':id')
  @Gets(SshCredentialResource, {
    id: 'getSshCredential',
    summary: 'Get an SSH credential',
    problems: ['not_found'],
  })
  async get(
    @Context() { caller, baseUrl }: RequestContext,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const entity = await this.credentials.find({ accountId: caller.accountId, id });
    if (entity === undefined) throw notFound();
    tellVersion(reply, entity);
    return toResource(entity, baseUrl);
  }

  @Patch(':id')
  @Changes(SshCredentialResource, {
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
    const input = given({ description, metadata, acl, publicKey, ownerId, createdAt });
    return this.execute(new UpdateSshCredential(context, id, input), context, reply);
  }

  @Delete(':id')
  @Deletes({
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
