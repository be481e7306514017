import { jest } from '@jest/globals';
import { ServiceLog } from '../../src/service-log.js';

/**
 * Takes the error lines that a test provokes, so that a passing test prints none. `end` returns them, the message and
 * the stack of each.
 */
export function takeErrorLines(): { end: () => string[] } {
  const spy = jest.spyOn(ServiceLog.prototype, 'error').mockImplementation(() => undefined);
  return {
    end: () => {
      const lines = spy.mock.calls.map((parts) => parts.join(' '));
      spy.mockRestore();
      return lines;
    },
  };
}
