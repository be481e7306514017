import { runInThisContext } from 'node:vm';

// The service runs outside of the realm of a test file. So both share the clock, which a test may set, and RangeError.
for (const name of ['Date', 'Error', 'RangeError', 'SyntaxError', 'TypeError']) {
  Object.defineProperty(globalThis, name, { value: runInThisContext(name), configurable: true, writable: true });
}
