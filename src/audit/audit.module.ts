import { Logger, Module } from '@nestjs/common';
import { DearReads } from '../database/dear-reads.js';
import { LogHeads } from '../log/read/log-heads.js';
import { LogPositions } from '../log/read/log-positions.js';
import { CloudEvents } from './cloud-events.js';
import { EventFeed } from './event-feed.js';
import { EventsController } from './events.controller.js';
import { LineFeed } from './line-feed.js';
import { LiveFeed } from './live-feed.js';

const logger = new Logger('Audit');

@Module({
  controllers: [EventsController],
  providers: [
    {
      provide: EventFeed,
      useFactory: (positions: LogPositions, dearReads: DearReads, cloudEvents: CloudEvents) =>
        new EventFeed(positions, dearReads, cloudEvents),
      inject: [LogPositions, DearReads, CloudEvents],
    },
    { provide: LineFeed, useFactory: (feed: EventFeed) => new LineFeed(feed), inject: [EventFeed] },
    {
      provide: LogHeads,
      useFactory: (positions: LogPositions) => new LogHeads(positions, (message) => logger.warn(message)),
      inject: [LogPositions],
    },
    {
      provide: LiveFeed,
      useFactory: (feed: EventFeed, heads: LogHeads) => new LiveFeed(feed, heads),
      inject: [EventFeed, LogHeads],
    },
  ],
  exports: [LineFeed, LiveFeed],
})
export class AuditModule {}
