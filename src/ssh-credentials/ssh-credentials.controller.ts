import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Entity } from '../event-log/read-model.js';
import { given } from '../given.js';
import { tellVersion } from '../http/conditions.js';
import { Mutations } from '../http/mutation.js';
import { pageOf, readPageRequest } from '../http/page.js';
import { Context, type RequestContext } from '../http/request-context.js';
import { List, Text, TextOfBytes } from '../http/validated-body.js';
import { refuseOtherPlace } from '../read-only-fields.js';
import { notFound, type SshCredential } from './ssh-credential.js';
import { CreateSshCredential, DeleteSshCredential, UpdateSshCredential } from './ssh-credentials.commands.js';
import { SshCredentials, sshCredentialsReadModel } from './ssh-credentials.read-model.js';

const MAX_DESCRIPTION_BYTES = 255;
const MAX_METADATA_BYTES = 4096;
const PATH = 'ssh_credentials';

export class CreateSshCredentialBody {
  @TextOfBytes(MAX_DESCRIPTION_BYTES, 'ssh_credential_description_too_long') description?: string;
  @TextOfBytes(MAX_METADATA_BYTES, 'ssh_credential_metadata_too_long') metadata?: string;
  @Text() public_key?: string;
  @List() acl?: unknown[];
  @Text() owner_id?: string;
}

/** `id`, `uri`, `created_at`, `public_key` and `owner_id` are taken when unchanged, so that a GET, edited, can be sent back. */
export class UpdateSshCredentialBody extends CreateSshCredentialBody {
  @Text() id?: string;
  @Text() uri?: string;
  @Text() created_at?: string;
}

@Controller(PATH)
export class SshCredentialsController {
  constructor(
    private readonly mutations: Mutations,
    private readonly credentials: SshCredentials,
  ) {}

  @Post()
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
  async list(@Context() { caller, baseUrl }: RequestContext, @Query() query: Record<string, unknown>) {
    const page = readPageRequest(query, 'sshcr');
    const found = await this.credentials.list(caller.accountId, page);
    return pageOf(PATH, `${baseUrl}/${PATH}`, page, found, (entity) => toResource(entity, baseUrl));
  }

  @Get(':id')
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

/** The one rendering for create, get, list and update: every field always, never null (several clients break otherwise). */
export const toResource = ({ id, createdAt, state }: Entity<SshCredential>, baseUrl: string) => ({
  id,
  uri: `${baseUrl}/${PATH}/${id}`,
  created_at: createdAt.toISOString(),
  description: state.description,
  metadata: state.metadata,
  public_key: state.publicKey,
  acl: state.acl,
  owner_id: state.ownerId,
});
