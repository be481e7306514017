import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { callForTag, type Failure, type Query } from './api.js';
import { asOf } from './route.js';

export interface Reading<T> {
  /** What was last read. It stays when a later read fails. */
  readonly data: T | undefined;
  /** Its ETag, if it has one. */
  readonly tag: string;
  readonly failure: Failure | undefined;
  readonly readAt: Date | undefined;
  readonly again: () => void;
}

const VISIBLE_MS = 5_000;
/** What has no state as of a moment. */
const ONLY_NOW = /^\/(tunnel_session|bind_decisions|caller)|\/usage$/;

/** Reads a path now, and in a visible tab every 5 s if `isLive` or the last read failed. No path: reads nothing. */
export function useReading<T>(path: string | undefined, query: Query = {}, isLive = false): Reading<T> {
  const moment = path === undefined || ONLY_NOW.test(path) ? {} : { as_of: asOf() };
  const wanted = path === undefined ? undefined : JSON.stringify([path, { ...moment, ...query }]);
  const [state, setState] = useState<{ of?: string; data?: T; tag?: string; failure?: Failure; readAt?: Date }>({});
  const newest = useRef(0);
  const hasFailed = useRef(false);
  const read = useCallback(async () => {
    if (wanted === undefined) return;
    newest.current += 1;
    const mine = newest.current;
    const [at, parameters] = JSON.parse(wanted) as [string, Query];
    const next = await callForTag<T>('GET', at, { query: parameters }).then(
      ({ data, tag }) => ({ of: wanted, data, tag, readAt: new Date() }),
      (failure: Failure) => ({ failure }),
    );
    if (mine !== newest.current) return;
    hasFailed.current = 'failure' in next;
    setState((before) => (before.of === wanted ? { ...before, failure: undefined, ...next } : next) as typeof before);
  }, [wanted]);
  useEffect(() => {
    void read();
    const readVisible = () => void (document.visibilityState === 'visible' && (isLive || hasFailed.current) && read());
    const timer = setInterval(readVisible, VISIBLE_MS);
    document.addEventListener('visibilitychange', readVisible);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', readVisible);
    };
  }, [read, isLive]);
  const isOfThis = state.of === wanted;
  return {
    data: isOfThis ? state.data : undefined,
    tag: (isOfThis ? state.tag : undefined) ?? '',
    failure: state.failure,
    readAt: isOfThis ? state.readAt : undefined,
    again: () => void read(),
  };
}
