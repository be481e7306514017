import { Module } from '@nestjs/common';
import { Incidents, POOL } from '../../../database/index.js';
import { Checkpoints, SealedLogs } from '../../../event-log/index.js';
import { providerOf } from '../../resources/provider-of.js';
import { EvidenceController } from './evidence.controller.js';
import { Evidence } from './evidence.js';
import { Sealer } from './sealer.js';

/** Without a key nothing is sealed, and the routes say so. */
@Module({
  controllers: [EvidenceController],
  providers: [
    providerOf(SealedLogs, POOL),
    providerOf(Evidence, SealedLogs, Checkpoints),
    providerOf(Sealer, SealedLogs, Checkpoints, Incidents),
  ],
})
export class EvidenceModule {}
