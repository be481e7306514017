import { runInThisContext } from 'node:vm';

// The service runs outside of the realm of a test file: its clock is the one that a test sets, its errors are RangeErrors.
for (const name of ['Date', 'Error', 'RangeError', 'SyntaxError', 'TypeError']) {
  Object.defineProperty(globalThis, name, { value: runInThisContext(name), configurable: true, writable: true });
}
