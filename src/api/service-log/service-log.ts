import cluster from 'node:cluster';
import { hostname } from 'node:os';
import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';
import { messageOf } from '../../kernel/error-message.js';
import type { LogLevel } from '../../kernel/settings/log-levels.js';
import { redacted } from './redaction.js';
import { toTerminalLine } from './terminal-line.js';

/** Contexts in which Nest logs its own wiring: useful to developers, noise to an operator. */
const WIRING_CONTEXTS = new Set([
  'InstanceLoader',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
  'NestApplication',
]);

/** Only these fields: further ones of an error, such as the parameters of a failed statement, may hold secrets. */
function errorFields(error: unknown): object {
  if (!(error instanceof Error)) return { message: redacted(String(error)) };
  return {
    type: error.name,
    message: redacted(messageOf(error)),
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    stack: redacted(error.stack ?? ''),
  };
}

/**
 * The service's log, which is also Nest's: JSON lines on stdout, or lines for people if stdout is a terminal. Each line
 * is written before the call returns, so that none is lost when the process exits.
 */
export class ServiceLog implements LoggerService {
  readonly isOnTerminal = process.stdout.isTTY === true;
  private readonly lines: Logger;
  private readonly announcements: Logger;
  private held: (() => void)[] | undefined;
  private readonly terminal = {
    write: (line: string): void => void process.stdout.write(toTerminalLine(line, this.lines.level === 'debug')),
  };

  constructor(level: LogLevel = 'info') {
    const options = {
      level,
      base: { pid: process.pid, hostname: hostname() },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label: string) => ({ level: label }) },
      serializers: { err: errorFields },
    };
    const destination = this.isOnTerminal ? this.terminal : stdoutOrNowhere();
    this.lines = pino(options, destination);
    // This is not a child logger, since a child would follow the level of its parent.
    this.announcements = pino({ ...options, level: 'info' }, destination);
  }

  setLevel(level: LogLevel): void {
    this.lines.level = level;
  }

  /** On a terminal, routine lines wait until `release`. */
  hold(): void {
    if (this.isOnTerminal) this.held = [];
  }

  release(): void {
    const lines = this.held ?? [];
    this.held = undefined;
    for (const write of lines) write();
  }

  /** Every line but those of `announce` passes here. No field may hold a secret. */
  line(level: LogLevel | 'fatal', fields: object, message: string): void {
    const isRoutine = level === 'info' || level === 'debug';
    this.writeInOrder(isRoutine, () => this.lines[level](fields, message));
  }

  /** A line about the process itself, such as its start and its end, which is written at any level. */
  announce(fields: object, message: string): void {
    this.writeInOrder(true, () => this.announcements.info(fields, message));
  }

  private writeInOrder(mayWait: boolean, write: () => void): void {
    if (mayWait && this.held !== undefined) return void this.held.push(write);
    this.release();
    write();
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest reports that it cannot listen, with a stack, and then throws the same error: the start's end says it once. */
  error(message: unknown, ...rest: unknown[]): void {
    if (rest.at(-1) !== 'NestApplication') this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  log(message: unknown, ...rest: unknown[]): void {
    const context = rest.at(-1);
    const isWiring = typeof context === 'string' && WIRING_CONTEXTS.has(context);
    this.write(isWiring ? 'debug' : 'info', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  /** Nest's loggers send their context last. */
  private write(level: LogLevel | 'fatal', message: unknown, rest: readonly unknown[]): void {
    const context = typeof rest.at(-1) === 'string' ? { context: rest.at(-1) } : {};
    const err = message instanceof Error ? { err: message } : {};
    this.line(level, { ...context, ...err }, redacted(messageOf(message)));
  }
}

/** What is kept while the disk under the log is full; further lines are lost. */
const MAX_UNWRITTEN_BYTES = 1024 * 1024;

/** A reader that went away, or a full disk under the log, must not end the service. */
function stdoutOrNowhere() {
  // Programs that start services as workers, such as pm2 with -i, read what passes this function only.
  if (cluster.isWorker) return { write: (line: string): void => void process.stdout.write(line) };
  const stdout = pino.destination({ dest: 1, sync: true, maxLength: MAX_UNWRITTEN_BYTES });
  stdout.on('error', () => undefined);
  return stdout;
}
