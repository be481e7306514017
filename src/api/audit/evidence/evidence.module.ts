import { Module } from '@nestjs/common';
import { POOL } from '../../../database/database.js';
import { Incidents } from '../../../database/incidents.js';
import { Checkpoints } from '../../../event-log/transparency/seal/checkpoints.js';
import { SealedLogs } from '../../../event-log/transparency/seal/sealed-logs.js';
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
