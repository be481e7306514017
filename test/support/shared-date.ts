import { runInThisContext } from 'node:vm';

// The service runs outside of the realm of a test file; a clock that a test sets must be the clock of the service.
globalThis.Date = runInThisContext('Date');
