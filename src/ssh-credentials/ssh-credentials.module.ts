import { Module } from '@nestjs/common';
import { POOL } from '../database/database.js';
import {
  CreateSshCredentialHandler,
  DeleteSshCredentialHandler,
  UpdateSshCredentialHandler,
} from './ssh-credentials.commands.js';
import { SshCredentialsController } from './ssh-credentials.controller.js';
import { SshCredentials } from './ssh-credentials.read-model.js';

@Module({
  controllers: [SshCredentialsController],
  providers: [
    { provide: SshCredentials, useFactory: (pool) => new SshCredentials(pool), inject: [POOL] },
    CreateSshCredentialHandler,
    UpdateSshCredentialHandler,
    DeleteSshCredentialHandler,
  ],
})
export class SshCredentialsModule {}
