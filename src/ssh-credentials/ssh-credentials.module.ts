import { Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../database/database.js';
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
    { provide: KeyHolders, useFactory: (pool: Pool) => new KeyHolders(pool), inject: [POOL] },
    CreateSshCredentialHandler,
    UpdateSshCredentialHandler,
    DeleteSshCredentialHandler,
  ],
})
export class SshCredentialsModule {}
