import { ConsoleLogger } from '@nestjs/common';
import type { LogLevel } from './config.js';

/** Contexts in which Nest logs its own wiring: useful to developers, noise to an operator. */
const WIRING_CONTEXTS = new Set([
  'InstanceLoader',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
  'NestApplication',
]);

const LEVELS: Record<LogLevel, ('error' | 'fatal' | 'warn' | 'log' | 'debug' | 'verbose')[]> = {
  error: ['fatal', 'error'],
  warn: ['fatal', 'error', 'warn'],
  info: ['fatal', 'error', 'warn', 'log'],
  debug: ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'],
};

/** The service's log: lines for a person on a terminal, JSON lines for a collector otherwise. */
export class ServiceLog extends ConsoleLogger {
  constructor(private readonly level: LogLevel) {
    const isTerminal = process.stdout.isTTY === true;
    super({ logLevels: LEVELS[level], json: !isTerminal, colors: isTerminal, prefix: 'tunnel-access' });
  }

  /** Nest reports that it cannot listen, with a stack, and then throws the same error: the start's end says it once. */
  override error(message: unknown, ...rest: unknown[]): void {
    if (rest.at(-1) !== 'NestApplication') super.error(message, ...rest);
  }

  override log(message: unknown, ...rest: unknown[]): void {
    const context = rest.at(-1);
    if (this.level !== 'debug' && typeof context === 'string' && WIRING_CONTEXTS.has(context)) return;
    super.log(message, ...rest);
  }
}
