interface Queue<Item> {
  readonly size: number;
  next(): Item | undefined;
}

/** First in, first out. */
export class FifoQueue<Item> implements Queue<Item> {
  private readonly items = new Set<Item>();

  get size(): number {
    return this.items.size;
  }

  add(item: Item): void {
    this.items.add(item);
  }

  next(): Item | undefined {
    const [item] = this.items;
    if (item !== undefined) this.items.delete(item);
    return item;
  }
}

/** Named queues that take turns: each gives one item, then the next queue does. */
export class RoundRobin<Item, Of extends Queue<Item>> implements Queue<Item> {
  /** The first queue has the next turn. No queue in this map is empty. */
  private readonly queues = new Map<string, Of>();

  constructor(private readonly make: () => Of) {}

  get size(): number {
    return this.queues.size;
  }

  /** The caller must add an item to it at once, since no queue here may be empty. */
  queueOf(name: string): Of {
    const queue = this.queues.get(name) ?? this.make();
    this.queues.set(name, queue);
    return queue;
  }

  next(): Item | undefined {
    for (const [name, queue] of this.queues) {
      const item = queue.next();
      this.queues.delete(name);
      if (queue.size > 0) this.queues.set(name, queue);
      return item;
    }
    return undefined;
  }
}
