import { type DynamicModule, Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../database/database.js';
import type { CheckpointKey } from '../log/seal/checkpoint-key.js';
import { SealedLogs } from '../log/seal/sealed-logs.js';
import { EvidenceController } from './evidence.controller.js';
import { Evidence } from './evidence.js';
import { Sealer } from './sealer.js';

@Module({})
export class EvidenceModule {
  /** Without a key, nothing is sealed and the routes say so. */
  static with(key: CheckpointKey | undefined): DynamicModule {
    const sealer = {
      provide: Sealer,
      useFactory: (logs: SealedLogs) => key && new Sealer(logs, key),
      inject: [SealedLogs],
    };
    return {
      module: EvidenceModule,
      controllers: [EvidenceController],
      providers: [
        { provide: SealedLogs, useFactory: (pool: Pool) => new SealedLogs(pool), inject: [POOL] },
        { provide: Evidence, useFactory: (logs: SealedLogs) => new Evidence(logs, key), inject: [SealedLogs] },
        sealer,
      ],
    };
  }
}
