import { Module } from '@nestjs/common';
import { EventFeed } from './event-feed.js';
import { EventsController } from './events.controller.js';
import { ExportController } from './export.controller.js';
import { LineFeed } from './line-feed.js';
import { LiveFeed } from './live-feed.js';
import { LogExport } from './log-export.js';
import { RecordsController } from './records.controller.js';

@Module({
  controllers: [EventsController, ExportController, RecordsController],
  providers: [EventFeed, LineFeed, LiveFeed, LogExport],
  exports: [LineFeed, LiveFeed],
})
export class AuditModule {}
