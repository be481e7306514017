import { Module } from '@nestjs/common';
import { EvidenceController } from './evidence.controller.js';
import { Evidence } from './evidence.js';
import { Sealer } from './sealer.js';

/** Without a key nothing is sealed, and the routes say so. */
@Module({
  controllers: [EvidenceController],
  providers: [Evidence, Sealer],
})
export class EvidenceModule {}
