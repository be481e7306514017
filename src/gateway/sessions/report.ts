import { omitUndefined } from '../../kernel/omit-undefined.js';
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

/** What a report says. It is sent again as it is. Only its ages grow, and what the service refuses is left out. */
export interface Report {
  readonly number: number;
  /** In the order in which they take effect. */
  readonly items: readonly Item[];
  /** This report is the last one of a whole state that began with the report of this number. */
  readonly wholeSince: number | undefined;
}

/** The gateway that reports. */
export interface ReportingGateway {
  /** Made anew at each start. */
  readonly id: string;
  /** Absent: it does not know them. */
  readonly hosts?: readonly OwnedHost[];
  /** Where SSH clients connect, as `host:port`. Absent: a free port, which nobody knows before the start. */
  readonly address?: string | undefined;
  /** The lines of its public host keys, without comments. */
  readonly hostKeys?: readonly string[];
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
export function bodyOf({ number, items, wholeSince }: Report, gateway: ReportingGateway, now: number): object {
  const lists: Partial<Record<Kind, object[]>> = {};
  for (const { kind, fields, at } of items) {
    const list = lists[kind] ?? [];
    lists[kind] = list;
    list.push(at === undefined ? fields : { ...fields, ago_ms: Math.max(0, Math.round(now - at)) });
  }
  return {
    gateway_id: gateway.id,
    report: number,
    ...lists,
    ...(wholeSince !== undefined && {
      whole_since: wholeSince,
      ...(gateway.hosts && { gateway: told(gateway, gateway.hosts) }),
    }),
  };
}

const told = ({ address, hostKeys }: ReportingGateway, hosts: readonly OwnedHost[]) => ({
  hosts: hosts.map(toldHost),
  ...omitUndefined({ address, host_keys: hostKeys }),
});

const toldHost = ({ host, listenAddress }: OwnedHost) => ({ host, listen_address: listenAddress });
