import { Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../../database/index.js';
import { CredentialExpiryController, CredentialSourcesController } from './credential-restrictions.controller.js';
import { SshCredentialsController } from './ssh-credentials.controller.js';
import { SSH_CREDENTIAL_HANDLERS } from './ssh-credentials.handlers.js';
import { UsedKeys } from './ssh-credentials.read-model.js';

@Module({
  controllers: [SshCredentialsController, CredentialExpiryController, CredentialSourcesController],
  providers: [
    // A read model knows no Nest, which the operator's commands would load with it.
    { provide: UsedKeys, useFactory: (pool: Pool) => new UsedKeys(pool), inject: [POOL] },
    ...SSH_CREDENTIAL_HANDLERS,
  ],
})
export class SshCredentialsModule {}
