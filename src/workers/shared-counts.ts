import type { Channel } from './channel.js';
import { Places } from './places.js';
import { Windows } from './windows.js';

/** The counts of all workers of an instance, which the primary keeps. */
export class SharedCounts {
  private readonly windows = new Map<string, Windows>();
  private readonly places = new Places();

  /** Answers a worker. Call the result when the worker has ended: what it held is free again. */
  serve(channel: Channel): () => void {
    const held = new Map<string, number>();
    const hold = (name: string, by: number): void => void held.set(name, (held.get(name) ?? 0) + by);
    channel.on('count', ({ limit, maxNames, name }: { limit: string; maxNames: number; name: string }) =>
      this.windowsOf(limit, maxNames).count(name),
    );
    channel.on('take', ({ name, max }: { name: string; max: number }) => {
      const isTaken = this.places.take(name, max);
      if (isTaken) hold(name, 1);
      return isTaken;
    });
    channel.on('give back', (name: string) => {
      hold(name, -1);
      if (held.get(name) === 0) held.delete(name);
      this.places.giveBack(name);
    });
    return () => {
      for (const [name, count] of held) this.places.giveBack(name, count);
    };
  }

  private windowsOf(limit: string, maxNames: number): Windows {
    const windows = this.windows.get(limit) ?? new Windows(maxNames);
    this.windows.set(limit, windows);
    return windows;
  }
}
