import { Logger, Module } from '@nestjs/common';
import { LogHeads } from '../log/read/log-heads.js';
import { LogPositions } from '../log/read/log-positions.js';
import { LogReader } from '../log/read/log-reader.js';
import { CloudEvents } from './cloud-events.js';
import { EventFeed } from './event-feed.js';
import { EventsController } from './events.controller.js';
import { LiveFeed } from './live-feed.js';

const logger = new Logger('Audit');

@Module({
  controllers: [EventsController],
  providers: [
    {
      provide: EventFeed,
      useFactory: (positions: LogPositions, log: LogReader, cloudEvents: CloudEvents) =>
        new EventFeed(positions, log, cloudEvents),
      inject: [LogPositions, LogReader, CloudEvents],
    },
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
})
export class AuditModule {}
