import { Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../../database/index.js';
import { CredentialInclusions } from './credential-inclusions.js';
import { CredentialExpiryController, CredentialSourcesController } from './credential-restrictions.controller.js';
import { CredentialRotationController } from './credential-rotation.controller.js';
import { CredentialUsageController } from './credential-usage.controller.js';
import { CredentialUsage } from './credential-usage.js';
import { RotateSshCredentialHandler } from './rotate-credential.js';
import { SshCredentialsController } from './ssh-credentials.controller.js';
import { NewCredentials, SSH_CREDENTIAL_HANDLERS } from './ssh-credentials.handlers.js';
import { UsedKeys } from './ssh-credentials.read-model.js';

@Module({
  controllers: [
    SshCredentialsController,
    CredentialRotationController,
    CredentialExpiryController,
    CredentialSourcesController,
    CredentialUsageController,
  ],
  providers: [
    // A read model knows no Nest, which the operator's commands would load with it.
    { provide: UsedKeys, useFactory: (pool: Pool) => new UsedKeys(pool), inject: [POOL] },
    CredentialInclusions,
    CredentialUsage,
    NewCredentials,
    RotateSshCredentialHandler,
    ...SSH_CREDENTIAL_HANDLERS,
  ],
  exports: [CredentialUsage, NewCredentials],
})
export class SshCredentialsModule {}
