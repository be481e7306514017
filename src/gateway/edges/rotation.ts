/** What waits, one after the other. */
interface Line<Item> {
  readonly size: number;
  next(): Item | undefined;
}

/** In the order of arrival. */
export class Queue<Item> implements Line<Item> {
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

/** Lines with names, of which each gives one in its turn. */
export class Rotation<Item, Of extends Line<Item>> implements Line<Item> {
  /** The line that gave one last is the last one. None is empty. */
  private readonly lines = new Map<string, Of>();

  constructor(private readonly make: () => Of) {}

  get size(): number {
    return this.lines.size;
  }

  /** Something must be added to it at once. */
  line(name: string): Of {
    const line = this.lines.get(name) ?? this.make();
    this.lines.set(name, line);
    return line;
  }

  next(): Item | undefined {
    for (const [name, line] of this.lines) {
      const item = line.next();
      this.lines.delete(name);
      if (line.size > 0) this.lines.set(name, line);
      return item;
    }
    return undefined;
  }
}
