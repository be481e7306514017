import { Module } from '@nestjs/common';
import { POOL } from '../database/database.js';
import { providerOf } from '../resources/provider-of.js';
import { SshCredentialsController } from './ssh-credentials.controller.js';
import {
  CreateSshCredentialHandler,
  DeleteSshCredentialHandler,
  UpdateSshCredentialHandler,
} from './ssh-credentials.handlers.js';
import { KeyHolders } from './ssh-credentials.read-model.js';

@Module({
  controllers: [SshCredentialsController],
  providers: [
    providerOf(KeyHolders, POOL),
    CreateSshCredentialHandler,
    UpdateSshCredentialHandler,
    DeleteSshCredentialHandler,
  ],
})
export class SshCredentialsModule {}
