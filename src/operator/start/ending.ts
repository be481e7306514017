import { redacted } from '../../api/service-log/redaction.js';
import type { ServiceLog } from '../../api/service-log/service-log.js';
import { messageOf } from '../../kernel/error-message.js';
import { EXIT, exitOnUncaughtError, failureOf } from '../exit-codes.js';

/** How a process of the service says why it ends. */
export class Ending {
  constructor(private readonly log: ServiceLog) {}

  /** Node's own warnings and uncaught errors become lines of the log; by itself Node prints plain text. */
  watch(): void {
    exitOnUncaughtError((error) => this.reportBug(error));
    process.removeAllListeners('warning');
    process.on('warning', ({ name, message }) => this.log.line('warn', { context: name }, redacted(message)));
  }

  /** Ends the process: one sentence for the operator, or the stack of a bug. */
  fail(reason: unknown): never {
    const { exitCode, error } = failureOf(reason);
    if (exitCode === EXIT.internal) this.reportBug(error);
    else this.log.line('fatal', { exit_code: exitCode }, redacted(messageOf(error)));
    process.exit(exitCode);
  }

  reportBug(error: unknown): void {
    this.log.line('fatal', { exit_code: EXIT.internal, err: error }, `internal error: ${redacted(messageOf(error))}`);
  }
}
