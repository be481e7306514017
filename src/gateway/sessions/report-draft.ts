import type { Open, OpenSessions } from './open-sessions.js';
import { type Item, KINDS, type Kind, type Report } from './report.js';

/** A whole state that is being told: all that was open when it began. */
export interface WholeState {
  /** The number of its first report. */
  readonly since: number;
  readonly rest: Iterator<Open>;
  isDone: boolean;
}

/** The service takes 1,000 items of a kind. */
const MAX_ITEMS = 400;
const MAX_CHARACTERS = 300_000;
/** It takes 50,000 in a body, and logs of a traffic policy can be full of them. */
const MAX_COMMAS = 40_000;
const BEGINS = ['sessions', 'tunnels'] as const;
const ENDS = ['ended_tunnels', 'ended_sessions'] as const;

/** A report that is being made. It takes what has to be told, as far as there is room. */
export class ReportDraft {
  private readonly items: Item[] = [];
  private readonly counts = new Map<Kind, number>();
  private characters = 0;
  private commas = 0;

  constructor(
    private readonly open: OpenSessions,
    private readonly number: number,
    /** The service may have forgotten what earlier reports told. */
    private readonly knownSince: number,
  ) {}

  /** What ended before it was told, or was not known to the service, is told with its begin. */
  tellEnds(): void {
    for (const ended of this.open.ended) {
      if (!this.hasRoom(...BEGINS, ...ENDS)) return;
      const { what, at, reason, isToldWhole } = ended;
      this.open.ended.delete(ended);
      if (what.isLeftOut) continue;
      this.tellBegin(what, isToldWhole ? this.number : this.knownSince);
      const fields = { account_id: what.accountId, id: what.id, reason, ...what.used };
      this.add({ kind: `ended_${what.kind}`, fields, at, ended });
    }
  }

  tellBegins(): void {
    for (const open of this.open.untold) {
      if (!this.hasRoom(...BEGINS)) return;
      this.tellBegin(open, this.knownSince);
    }
  }

  tellWhole(whole: WholeState): void {
    while (!whole.isDone && this.hasRoom(...BEGINS)) {
      const { value, done } = whole.rest.next();
      if (done === true) whole.isDone = true;
      else this.tellBegin(value, whole.since);
    }
  }

  tellConnections(): void {
    for (const connection of this.open.endedConnections) {
      if (!this.hasRoom('edge_connections')) return;
      this.open.endedConnections.delete(connection);
      const { logs, ...facts } = connection.facts;
      const fields = logs === undefined ? facts : { ...facts, logs: JSON.parse(logs) };
      this.add({ kind: 'edge_connections', fields, at: connection.at });
    }
  }

  tellUse(): void {
    for (const open of this.open.usedMore) {
      if (!this.hasRoom('used')) return;
      if (open.toldIn === 0 && !open.isLeftOut) continue;
      this.open.usedMore.delete(open);
      if (open.isLeftOut) continue;
      this.add({ kind: 'used', fields: { account_id: open.accountId, id: open.id, ...open.used } });
    }
  }

  /** With its lists in the order in which they take effect. */
  report(wholeSince: number | undefined): Report {
    const items = KINDS.flatMap((kind) => this.items.filter((item) => item.kind === kind));
    return { number: this.number, items, wholeSince };
  }

  /** Does nothing if this report or an earlier one, from `since` on, has told it. A tunnel needs its session. */
  private tellBegin(open: Open, since: number): void {
    if (open.session !== undefined) this.tellBegin(open.session, since);
    this.open.untold.delete(open);
    if (open.toldIn >= since || open.isLeftOut) return;
    open.toldIn = this.number;
    // A service that forgot it does not know its counters either.
    if (open.isOpen && open.used.connections > 0) this.open.usedMore.add(open);
    const { kind, id, accountId, facts, since: at } = open;
    this.add({ kind, fields: { id, account_id: accountId, ...facts }, at, begun: open });
  }

  private hasRoom(...kinds: readonly Kind[]): boolean {
    const isShort = this.characters < MAX_CHARACTERS && this.commas < MAX_COMMAS;
    return isShort && kinds.every((kind) => this.countOf(kind) < MAX_ITEMS);
  }

  private add(item: Item): void {
    this.items.push(item);
    this.counts.set(item.kind, this.countOf(item.kind) + 1);
    const text = JSON.stringify(item.fields);
    this.characters += text.length;
    this.commas += text.split(',').length;
  }

  private countOf(kind: Kind): number {
    return this.counts.get(kind) ?? 0;
  }
}
