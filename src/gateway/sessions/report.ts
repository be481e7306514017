import type { OwnedHost } from '../../rules/index.js';
import type { Ended, Open, Stop } from './open-sessions.js';

/** The lists of a report, in the order in which they take effect. */
export const KINDS = ['sessions', 'tunnels', 'used', 'ended_tunnels', 'ended_sessions', 'edge_connections'] as const;
export type Kind = (typeof KINDS)[number];

/** An item of a list. */
export interface Item {
  readonly kind: Kind;
  readonly fields: object;
  /** When it happened. Its age is computed each time it is sent. */
  readonly at?: number | undefined;
  /** What it tells the begin of. */
  readonly begun?: Open | undefined;
  readonly ended?: Ended | undefined;
}

/** What a report says. It never changes, so it can be sent again. Only its ages grow. */
export interface Report {
  /** In the order in which they take effect. */
  readonly items: readonly Item[];
  /** This report is the last one of a whole state that began with the report of this number. */
  readonly wholeSince?: number | undefined;
  /** A part of a report that the service refused. */
  readonly isPart?: boolean;
  /** Undefined until it is sent. */
  number?: number;
}

/** The gateway that reports. */
export interface ReportingGateway {
  /** Made anew at each start. */
  readonly id: string;
  /** Absent: it does not know them. */
  readonly hosts?: readonly OwnedHost[];
}

/** The answer to a report. */
export interface ReportAnswer {
  /** False if this report was counted before. */
  readonly counted: boolean;
  readonly ignored: readonly { readonly id: string; readonly reason: string }[];
  readonly send_whole: boolean;
  readonly stops: readonly Stop[];
}

/** The body of a report. What the gateway says of itself belongs to a whole state. */
export function bodyOf({ number, items, wholeSince }: Report, { id, hosts }: ReportingGateway, now: number): object {
  const lists: Partial<Record<Kind, object[]>> = {};
  for (const { kind, fields, at } of items) {
    const list = lists[kind] ?? [];
    lists[kind] = list;
    list.push(at === undefined ? fields : { ...fields, ago_ms: Math.max(0, Math.round(now - at)) });
  }
  return {
    gateway_id: id,
    report: number,
    ...lists,
    ...(wholeSince !== undefined && {
      whole_since: wholeSince,
      ...(hosts && { gateway: { hosts: hosts.map(toldHost) } }),
    }),
  };
}

const toldHost = ({ host, listenAddress }: OwnedHost) => ({ host, listen_address: listenAddress });

/**
 * What to send instead of a report that the service refused: its halves, and in the end not the item that it refuses.
 * Before the first halves an empty report finds out whether the service takes any.
 */
export function partsOf({ items, wholeSince, isPart = false }: Report): readonly Report[] {
  const half = Math.ceil(items.length / 2);
  const isItem = items.length === 1;
  const halves = isItem && isPart ? [[]] : isItem ? [items] : [items.slice(0, half), items.slice(half)];
  const parts = halves.map((some, n) => ({
    ...{ items: some, isPart: true },
    wholeSince: n === halves.length - 1 ? wholeSince : undefined,
  }));
  return isPart ? parts : [{ items: [] }, ...parts];
}
