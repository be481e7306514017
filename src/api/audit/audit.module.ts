import { Logger, Module } from '@nestjs/common';
import { AuditReads } from '../../database/index.js';
import { LogHeads, LogPositions } from '../../event-log/index.js';
import { providerOf } from '../resources/provider-of.js';
import { CloudEvents } from './cloud-events.js';
import { EventFeed } from './event-feed.js';
import { EventsController } from './events.controller.js';
import { LineFeed } from './line-feed.js';
import { LiveFeed } from './live-feed.js';

const logger = new Logger('Audit');

@Module({
  controllers: [EventsController],
  providers: [
    providerOf(EventFeed, LogPositions, AuditReads, CloudEvents),
    providerOf(LineFeed, EventFeed),
    providerOf(LiveFeed, EventFeed, LogHeads),
    {
      provide: LogHeads,
      useFactory: (positions: LogPositions) => new LogHeads(positions, (message) => logger.warn(message)),
      inject: [LogPositions],
    },
  ],
  exports: [LineFeed, LiveFeed],
})
export class AuditModule {}
