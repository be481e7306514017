import { Module } from '@nestjs/common';
import { POOL } from '../../database/index.js';
import { providerOf } from '../resources/provider-of.js';
import { CredentialExpiryController, CredentialSourcesController } from './credential-restrictions.controller.js';
import { SshCredentialsController } from './ssh-credentials.controller.js';
import { SSH_CREDENTIAL_HANDLERS } from './ssh-credentials.handlers.js';
import { UsedKeys } from './ssh-credentials.read-model.js';

@Module({
  controllers: [SshCredentialsController, CredentialExpiryController, CredentialSourcesController],
  providers: [providerOf(UsedKeys, POOL), ...SSH_CREDENTIAL_HANDLERS],
})
export class SshCredentialsModule {}
