import { Injectable } from '@nestjs/common';
import { AuditReads } from '../../database/index.js';
import { exportPage, type PageSize } from '../../event-log/index.js';
import { CloudEvents } from './cloud-events.js';
import type { FeedPage, FeedSelection } from './event-feed.js';
import type { LinePages } from './line-feed.js';

/** The lines of `audit export`, which have all that a leaf of the Merkle tree is made of. */
@Injectable()
export class LogExport implements LinePages {
  constructor(
    private readonly auditReads: AuditReads,
    private readonly cloudEvents: CloudEvents,
  ) {}

  nextPage({ accountId, span }: FeedSelection, signal: AbortSignal, size: PageSize): Promise<FeedPage> {
    return this.auditReads.runAdmitted({ accountId, signal }, async (connections) => {
      if (span.after >= span.upTo) return { events: [], scannedTo: span.after };
      const types = this.cloudEvents.hiddenTypes;
      const lines = await exportPage(connections, accountId, span, types, size);
      return { events: lines, scannedTo: lines.at(-1)?.position ?? span.upTo };
    });
  }
}
