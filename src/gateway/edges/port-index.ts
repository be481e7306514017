import type { EdgePort } from './edge-port.js';

/** The hostports at which edges are known, and those that each edge, policy and tunnel group concerns. */
export class PortIndex {
  private readonly ports = new Map<string, EdgePort>();
  private readonly byConcern = new Map<string, Set<EdgePort>>();

  get(hostport: string): EdgePort | undefined {
    return this.ports.get(hostport);
  }

  get hostports(): IterableIterator<string> {
    return this.ports.keys();
  }

  get all(): IterableIterator<EdgePort> {
    return this.ports.values();
  }

  /** Those that a change of one of these ids may concern. */
  concernedBy(ids: readonly string[]): EdgePort[] {
    return ids.flatMap((id) => [...(this.byConcern.get(id) ?? [])]);
  }

  /** Notes what concerns the port now. Without anything it is forgotten. */
  set(port: EdgePort, concerns: ReadonlySet<string>): void {
    for (const id of port.concerns) if (!concerns.has(id)) this.remove(id, port);
    for (const id of concerns) this.byConcern.set(id, (this.byConcern.get(id) ?? new Set()).add(port));
    port.concerns = concerns;
    if (concerns.size === 0) this.ports.delete(port.hostport);
    else this.ports.set(port.hostport, port);
  }

  private remove(id: string, port: EdgePort): void {
    const ports = this.byConcern.get(id);
    if (ports?.delete(port) === true && ports.size === 0) this.byConcern.delete(id);
  }
}
