import type { OnApplicationShutdown, OnModuleDestroy } from '@nestjs/common';

/** Work that an instance does again and again in the background. */
export abstract class PeriodicTask implements OnModuleDestroy, OnApplicationShutdown {
  private readonly stop = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;

  constructor(private readonly everyMs: number) {}

  /** Aborts when the instance stops. */
  protected readonly stopping = this.stop.signal;

  protected abstract round(): Promise<void>;

  /** Called with the reason of a failed round. The next round comes all the same. */
  protected abstract failed(error: unknown): void;

  protected schedule(delayMs: number): void {
    this.timer = setTimeout(() => {
      this.running = this.round()
        .catch((error: unknown) => this.failed(error))
        .finally(() => {
          if (!this.stopping.aborted) this.schedule(this.everyMs);
        });
    }, delayMs).unref();
  }

  /** Asks the round to end without waiting: Nest calls this before HTTP stops, and requests in flight must not wait. */
  onModuleDestroy(): void {
    this.stop.abort();
    clearTimeout(this.timer);
  }

  /** Nest calls it before the database closes. */
  async onApplicationShutdown(): Promise<void> {
    await this.running;
  }
}
