import { afterEach, beforeEach, expect, jest } from '@jest/globals';
import { ServiceLog } from '../../src/api/service-log/service-log.js';

export interface TakenLine {
  readonly level: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** Collects the log lines of the services in this process, so that a passing test prints none. `end` returns them. */
export function takeLines(): { readonly lines: () => TakenLine[]; end: () => TakenLine[] } {
  const spy = jest.spyOn(ServiceLog.prototype, 'line').mockImplementation(() => undefined);
  const lines = () => spy.mock.calls.map(([level, fields, message]) => ({ level, fields: { ...fields }, message }));
  return {
    lines,
    end: () => {
      const taken = lines();
      spy.mockRestore();
      return taken;
    },
  };
}

/** Collects only error lines: the message and the stack of each. */
export function takeErrorLines(): { end: () => string[] } {
  const taken = takeLines();
  return {
    end: () =>
      taken
        .end()
        .filter(({ level }) => level === 'error' || level === 'fatal')
        .map(({ message, fields: { err } }) => `${message} ${err instanceof Error ? err.stack : ''}`),
  };
}

/** The tests of this file may cause error lines of this kind. Any other error line fails its test. */
export function takeErrorLinesLike(kind: RegExp): void {
  let taken: ReturnType<typeof takeErrorLines>;
  beforeEach(() => {
    taken = takeErrorLines();
  });
  afterEach(() => {
    for (const line of taken.end()) expect(line).toMatch(kind);
  });
}
