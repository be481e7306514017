import { Module } from '@nestjs/common';
import { Ended } from './ended.js';
import { RecordRetention } from './record-retention.js';
import { EdgeConnectionRecordsController, SessionRecordsController } from './records.controller.js';

/** What has ended. It stays readable when the operator takes the gateway tokens away. */
@Module({
  controllers: [SessionRecordsController, EdgeConnectionRecordsController],
  providers: [Ended, RecordRetention],
})
export class RecordsModule {}
