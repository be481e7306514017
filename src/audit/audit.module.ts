import { Logger, Module } from '@nestjs/common';
import { LogHeads } from '../log/read/log-heads.js';
import { Logs } from '../resources/resource.js';
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
      useFactory: ({ moments, reader }: Logs, cloudEvents: CloudEvents) => new EventFeed(moments, reader, cloudEvents),
      inject: [Logs, CloudEvents],
    },
    {
      provide: LogHeads,
      useFactory: ({ moments }: Logs) => new LogHeads(moments, (message) => logger.warn(message)),
      inject: [Logs],
    },
    {
      provide: LiveFeed,
      useFactory: (feed: EventFeed, heads: LogHeads) => new LiveFeed(feed, heads),
      inject: [EventFeed, LogHeads],
    },
  ],
})
export class AuditModule {}
