import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { KEY_COMMAND, type LogRecord, readJournalLine, readLogin, readSyslogLine } from './log-lines.js';
import { readLog } from './log-source.js';

const KEY = `SHA256:${'a+/'.repeat(14)}a`;
const ACCEPTED = `Accepted publickey for tunnel from 192.0.2.7 port 50312 ssh2: ED25519 ${KEY}`;
const NOW = Date.UTC(2026, 10, 22, 12);
const record = (program: string, message: string): LogRecord => ({ at: NOW, program, pid: 7, isRoot: true, message });

describe('a line of syslog', () => {
  it.each([
    ['with a full time', '2026-11-22T13:44:08.123456+01:00', Date.UTC(2026, 10, 22, 12, 44, 8, 123)],
    ['without a year', 'Nov 22 11:44:08', new Date(2026, 10, 22, 11, 44, 8).getTime()],
    ['without a year, of the last one', 'Dec 31 23:59:59', new Date(2025, 11, 31, 23, 59, 59).getTime()],
  ])('%s has its time, program and process', (_, time, at) => {
    expect(readSyslogLine(`${time} gateway sshd-session[4711]: ${ACCEPTED}`, NOW)).toEqual({
      at,
      program: 'sshd-session',
      pid: 4711,
      isRoot: true,
      message: ACCEPTED,
    });
  });

  it('with another form is ignored', () => {
    expect(readSyslogLine('-- MARK --', NOW)).toBeUndefined();
  });

  it('is read from a file that exists, as it is written, and after a rotation', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tas-log-'));
    const file = join(folder, 'auth.log');
    const lineOf = (pid: number) => `2026-11-22T12:00:00Z gateway sshd[${pid}]: ${ACCEPTED}\n`;
    await writeFile(file, lineOf(1));
    const told = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    const stop = new AbortController();
    const records = readLog(file, stop.signal);
    expect((await records.next()).value).toMatchObject({ pid: 1, at: Date.UTC(2026, 10, 22, 12) });
    await appendFile(file, lineOf(2));
    expect((await records.next()).value).toMatchObject({ pid: 2, at: undefined });
    await rm(file);
    await writeFile(file, lineOf(3));
    expect((await records.next()).value).toMatchObject({ pid: 3, at: undefined });
    stop.abort();
    await records.return(undefined);
    // The operator reads what tail says about the file.
    expect(told.mock.calls.join('')).toContain(file);
    told.mockRestore();
    await rm(folder, { recursive: true });
  });
});

describe('a line of the journal', () => {
  const fields = {
    MESSAGE: ACCEPTED,
    SYSLOG_IDENTIFIER: 'sshd',
    _PID: '4711',
    _UID: '0',
    __REALTIME_TIMESTAMP: '1000000',
  };

  it('has the process that the journal knows', () => {
    expect(readJournalLine(JSON.stringify(fields))).toEqual({
      at: 1000,
      program: 'sshd',
      pid: 4711,
      isRoot: true,
      message: ACCEPTED,
    });
  });

  it('of another user who calls itself sshd tells of no login', () => {
    const line = readJournalLine(JSON.stringify({ ...fields, _UID: '1000' }));
    expect(line).toMatchObject({ isRoot: false });
    expect(line && readLogin(line)).toBeUndefined();
  });

  it('whose message is not text is no record', () => {
    expect(readJournalLine(JSON.stringify({ ...fields, MESSAGE: [1, 2] }))).toBeUndefined();
  });
});

describe('of a login', () => {
  it('sshd says which key it let in, and from where', () => {
    const login = { kind: 'accepted', at: NOW, pid: 7, fingerprint: KEY, source: '192.0.2.7' };
    expect(readLogin(record('sshd', ACCEPTED))).toEqual(login);
    expect(readLogin(record('sshd-session', ACCEPTED))).toEqual(login);
    expect(readLogin(record('other', ACCEPTED))).toBeUndefined();
    expect(readLogin(record('sshd', `Failed publickey ${KEY}`))).toBeUndefined();
  });

  it('the key command says what it answered to which sshd', () => {
    const line = `${KEY} sshcr_1@3,sshcr_2@1 4711 sk-ssh-ed25519@openssh.com restrict,from="192.0.2.0/24" restrict .`;
    expect(readLogin(record(KEY_COMMAND, line))).toEqual({
      kind: 'answer',
      at: NOW,
      pid: 4711,
      fingerprint: KEY,
      keyType: 'sk-ssh-ed25519@openssh.com',
      credentials: [
        { credential_id: 'sshcr_1', version: 3 },
        { credential_id: 'sshcr_2', version: 1 },
      ],
      options: ['restrict,from="192.0.2.0/24"', 'restrict'],
    });
  });

  it.each(['', ' restrict,port-forwarding,permitlisten="a.test:*",permitlis'])(
    'a line that was too long for syslog does not say what it permitted: %j',
    (options) => {
      const answer = readLogin(record(KEY_COMMAND, `${KEY} sshcr_1@3 4711 ssh-ed25519${options}`));
      expect(answer).toMatchObject({ pid: 4711, options: undefined });
    },
  );

  it('the line of an earlier key command, without a process, is no answer', () => {
    expect(readLogin(record(KEY_COMMAND, `${KEY} sshcr_1@3`))).toBeUndefined();
  });
});
