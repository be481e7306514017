import { Module } from '@nestjs/common';
import { POOL } from '../database/database.js';
import { providerOf } from '../resources/provider-of.js';
import { CredentialRestrictionsController } from './credential-restrictions.controller.js';
import { SshCredentialsController } from './ssh-credentials.controller.js';
import {
  CreateSshCredentialHandler,
  DeleteSshCredentialHandler,
  RestrictSshCredentialSourcesHandler,
  SetSshCredentialExpiryHandler,
  UpdateSshCredentialHandler,
} from './ssh-credentials.handlers.js';
import { KeyHolders } from './ssh-credentials.read-model.js';

@Module({
  controllers: [SshCredentialsController, CredentialRestrictionsController],
  providers: [
    providerOf(KeyHolders, POOL),
    CreateSshCredentialHandler,
    UpdateSshCredentialHandler,
    DeleteSshCredentialHandler,
    SetSshCredentialExpiryHandler,
    RestrictSshCredentialSourcesHandler,
  ],
})
export class SshCredentialsModule {}
