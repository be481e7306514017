import { setTimeout as sleep } from 'node:timers/promises';
import type { Ref } from '../../../database/index.js';
import { messageOf } from '../../../kernel/error-message.js';
import type { NewChanges, Watermark } from './watermark.js';

export interface ChangeListener<Changed> {
  changed(refs: readonly Changed[]): void;
  /** Changes may have been missed. The listener hears of no further ones. */
  lost(): void;
}

interface ChangesSince<Changed> {
  since(last: Watermark | undefined): Promise<NewChanges<Changed>>;
}

/** Delay until a listener hears of a change, regardless of which instance wrote it. */
const POLL_EVERY_MS = 25;

/**
 * Tells listeners of every change after they were added. All listeners of an instance share one query, and without
 * listeners no query runs, as with LogHeads.
 */
export class ChangeWatch<Changed extends Ref = Ref> {
  private readonly listeners = new Set<ChangeListener<Changed>>();
  private started: Promise<void> | undefined;

  constructor(
    private readonly changes: ChangesSince<Changed>,
    private readonly warn: (message: string) => void,
    private readonly pollEveryMs = POLL_EVERY_MS,
  ) {}

  /** Resolves when no change can be missed from now on. Rejects if the database is away. */
  async add(listener: ChangeListener<Changed>): Promise<void> {
    this.listeners.add(listener);
    this.started ??= this.start();
    await this.started;
  }

  remove(listener: ChangeListener<Changed>): void {
    this.listeners.delete(listener);
  }

  private async start(): Promise<void> {
    try {
      const { watermark } = await this.changes.since(undefined);
      void this.poll(watermark);
    } catch (error) {
      this.end(error);
      throw error;
    }
  }

  private async poll(first: Watermark): Promise<void> {
    let last = first;
    try {
      for (;;) {
        await sleep(this.pollEveryMs);
        if (this.listeners.size === 0) return this.end(undefined);
        const { watermark, changed } = await this.changes.since(last);
        if (changed === undefined) return this.end('too many changes at once, or another database server');
        last = watermark;
        if (changed.length > 0) for (const listener of this.listeners) listener.changed(changed);
      }
    } catch (error) {
      this.end(error);
    }
  }

  private end(reason: unknown): void {
    const listeners = [...this.listeners];
    this.listeners.clear();
    this.started = undefined;
    if (listeners.length > 0) this.warn(`readers of a stream of changes must ask anew: ${messageOf(reason)}`);
    for (const listener of listeners) listener.lost();
  }
}
