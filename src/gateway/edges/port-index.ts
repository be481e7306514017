import type { EdgePort } from './edge-port.js';

/** The ports with a known edge, by hostport, and by the id of each edge, backend and IP policy that concerns them. */
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

  /** The ports that a change of one of these ids may concern. */
  concernedBy(ids: readonly string[]): EdgePort[] {
    return ids.flatMap((id) => [...(this.byConcern.get(id) ?? [])]);
  }

  /** Notes the ids that concern the port now. A port without any is forgotten. */
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
