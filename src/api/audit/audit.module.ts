import { Module } from '@nestjs/common';
import { EventFeed } from './event-feed.js';
import { EventsController } from './events.controller.js';
import { LineFeed } from './line-feed.js';
import { LiveFeed } from './live-feed.js';

@Module({
  controllers: [EventsController],
  providers: [EventFeed, LineFeed, LiveFeed],
  exports: [LineFeed, LiveFeed],
})
export class AuditModule {}
