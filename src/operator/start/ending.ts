import { redacted } from '../../api/service-log/redaction.js';
import type { ServiceLog } from '../../api/service-log/service-log.js';
import { messageOf } from '../../kernel/error-message.js';
import { outageOf } from '../database-outage.js';
import { EXIT, exitOnUncaughtError, failureOf } from '../exit-codes.js';

/** Logs why a process of the service ends. */
export class Ending {
  constructor(private readonly log: ServiceLog) {}

  /** Turns Node's warnings and uncaught errors into log lines. Node itself would print plain text. */
  watch(): void {
    exitOnUncaughtError((error) => this.reportBug(error));
    process.removeAllListeners('warning');
    process.on('warning', ({ name, message }) => this.log.line('warn', { context: name }, redacted(message)));
  }

  /** Logs a sentence for the operator, or the stack of a bug, and ends the process. */
  fail(reason: unknown): never {
    const { exitCode, error } = failureOf(reason, outageOf);
    if (exitCode === EXIT.internal) this.reportBug(error);
    else this.log.line('fatal', { exit_code: exitCode }, redacted(messageOf(error)));
    process.exit(exitCode);
  }

  reportBug(error: unknown): void {
    this.log.line('fatal', { exit_code: EXIT.internal, err: error }, `internal error: ${redacted(messageOf(error))}`);
  }
}
