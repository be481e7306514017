import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DatabaseError } from 'pg';
import { DatabaseUnreachable } from '../database/failure.js';
import { CheckFailed, Interrupted, OperatorError, UsageError } from '../kernel/operator-error.js';
import { Problem } from '../kernel/problem.js';
import { outageOf } from './database-outage.js';
import { reportFailure } from './exit-codes.js';

const refusedWith = (sqlState: string): DatabaseError =>
  Object.assign(new DatabaseError('said by PostgreSQL', 0, 'error'), { code: sqlState });
const systemError = (code: string, syscall: string): Error => Object.assign(new Error(code), { code, syscall });

describe('an error that ends the process', () => {
  let printed: string[];
  beforeEach(() => {
    printed = [];
    jest.spyOn(console, 'error').mockImplementation((text) => void printed.push(text));
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each<[string, unknown, number, string[]]>([
    ['a failed check has printed what it found', new CheckFailed(), 1, []],
    ['a message with control characters', new UsageError('it says\n"\r\u009b8m"'), 2, ['it says\n"\\u000d\\u009b8m"']],
    ['a usage error', new UsageError('no such account'), 2, ['no such account']],
    ['a problem of the request', new Problem('request_malformed', 'it is in the future'), 2, ['it is in the future']],
    ['a problem with what exists', new Problem('not_found', 'no such resource'), 2, ['no such resource']],
    ["an operator's error", new OperatorError('free the port'), 3, ['free the port']],
    ['a service that is overloaded', new Problem('overloaded', 'try again'), 3, ['try again']],
    [
      'a port in use',
      systemError('EADDRINUSE', 'listen'),
      3,
      ['EADDRINUSE: another program listens there; stop it or set PORT'],
    ],
    ['a full disk', systemError('ENOSPC', 'write'), 3, ['ENOSPC']],
    ['an interruption', new Interrupted('interrupted'), 130, ['interrupted']],
  ])('%s: prints its message alone', (_, error, exitCode, lines) => {
    expect([reportFailure(error, outageOf), printed]).toEqual([exitCode, lines]);
  });

  it.each<[string, unknown]>([
    ['by the administrator', refusedWith('57P01')],
    ['for lack of a privilege', refusedWith('42501')],
    ['for lack of disk', refusedWith('53100')],
    ['in the middle of a statement', refusedWith('57014')],
    ['with the connection', new Error('Connection terminated unexpectedly')],
    ['with the connection, noticed later', new Error('Client has encountered a connection error and is not queryable')],
    ['before the next statement was sent', systemError('EPIPE', 'write')],
    ['before the pool had a connection', new Error('timeout exceeded when trying to connect')],
    ['before a named statement was answered', new DatabaseUnreachable('gone')],
    ['at its only address', systemError('ECONNREFUSED', 'connect')],
    ['at every address of its host', new AggregateError([systemError('ECONNREFUSED', 'connect')])],
  ])('is 3 for a database that was lost %s', (_, error) => {
    expect([reportFailure(error, outageOf), printed]).toEqual([
      3,
      [expect.stringMatching(/^the database cannot be used: \S[^\n]*$/)],
    ]);
  });

  it.each<[string, unknown]>([
    ['a bug', new TypeError('x is not a function')],
    ['a faulty statement', refusedWith('42601')],
    ['a problem of the service', new Problem('internal', 'internal error')],
  ])('is 70 for %s, with the stack', (_, error) => {
    expect([reportFailure(error, outageOf), printed]).toEqual([70, [expect.stringMatching(/\n {4}at /)]]);
  });
});
