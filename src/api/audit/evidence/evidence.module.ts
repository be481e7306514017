import { Module } from '@nestjs/common';
import { Checkpoints, Evidence, SealedLogs } from '../../../event-log/index.js';
import { EvidenceController } from './evidence.controller.js';
import { RecordSealer } from './record-sealer.js';
import { Sealer } from './sealer.js';

/** Without a key nothing is sealed, and the routes say so. */
@Module({
  controllers: [EvidenceController],
  providers: [
    {
      provide: Evidence,
      useFactory: (logs: SealedLogs, checkpoints: Checkpoints) => new Evidence(logs, checkpoints),
      inject: [SealedLogs, Checkpoints],
    },
    RecordSealer,
    Sealer,
  ],
})
export class EvidenceModule {}
