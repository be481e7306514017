import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { AcceptedKey, KeyAnswer } from './log-lines.js';
import { endSshd, findSshd } from './processes.js';
import { type Session, Sessions } from './sessions.js';

/** Processes with the name sshd. */
let folder: string;
let [first, second]: ChildProcess[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-sshd-'));
  const sshd = join(folder, 'sshd');
  await copyFile('/bin/sleep', sshd);
  [first, second] = [spawn(sshd, ['60']), spawn(sshd, ['60'])];
  await Promise.all([first, second].map((child) => once(child, 'spawn')));
});
afterEach(async () => {
  for (const child of [first, second]) child?.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

const KEY = 'SHA256:a';
const pidOf = (child: ChildProcess | undefined): number => child?.pid ?? 0;
const answerTo = (child: ChildProcess | undefined, version = 1, at = Date.now()): KeyAnswer => ({
  ...{ kind: 'answer', at, pid: pidOf(child), fingerprint: KEY, keyType: 'ssh-ed25519', options: ['restrict'] },
  credentials: [{ credential_id: 'sshcr_1', version }],
});
const acceptedBy = (child: ChildProcess | undefined, at = Date.now()): AcceptedKey => ({
  ...{ kind: 'accepted', at, pid: pidOf(child), fingerprint: KEY, source: '192.0.2.7' },
});

describe('a session', () => {
  it('is known once the log has both lines of its process, in any order', () => {
    const sessions = new Sessions();
    expect(sessions.take(answerTo(first))).toBeUndefined();
    expect(sessions.take(acceptedBy(first))).toMatchObject({ source: '192.0.2.7', process: { pid: pidOf(first) } });
    expect(sessions.take(acceptedBy(second))).toBeUndefined();
    expect(sessions.take(answerTo(second))).toMatchObject({ process: { pid: pidOf(second) } });
    expect(sessions.live()).toHaveLength(2);
  });

  it('has every answer that its sshd got for its key, each once, and is reviewed again when one comes late', () => {
    const sessions = new Sessions();
    const versionsOf = (session: Session | undefined) =>
      session?.answers.map(({ credentials }) => credentials.map(({ version }) => version));
    sessions.take(answerTo(first, 1));
    sessions.take({ ...answerTo(first, 9), fingerprint: 'SHA256:b' });
    sessions.take(answerTo(first, 2));
    expect(versionsOf(sessions.take(acceptedBy(first)))).toEqual([[1], [2]]);
    expect(sessions.take(answerTo(first, 2))).toBeUndefined();
    expect(sessions.take({ ...answerTo(first, 9), fingerprint: 'SHA256:b' })).toBeUndefined();
    expect(versionsOf(sessions.take(answerTo(first, 3)))).toEqual([[1], [2], [3]]);
    expect(sessions.live().map(versionsOf)).toEqual([[[1], [2], [3]]]);
  });

  it('does not exist if another sshd accepts the key than the one that asked about it', () => {
    const sessions = new Sessions();
    sessions.take(answerTo(first));
    expect(sessions.take(acceptedBy(second))).toBeUndefined();
    expect(sessions.live()).toEqual([]);
  });

  it('does not exist for a process that started after the lines, or that is not sshd', () => {
    const sessions = new Sessions();
    const HOUR_MS = 3_600_000;
    for (const line of [answerTo(first, 1, Date.now() - HOUR_MS), acceptedBy(first, Date.now() - HOUR_MS)]) {
      expect(sessions.take(line)).toBeUndefined();
    }
    for (const line of [answerTo(undefined), acceptedBy(undefined)]) {
      expect(sessions.take({ ...line, pid: process.pid })).toBeUndefined();
    }
    expect(sessions.live()).toEqual([]);
  });

  it('ends by SIGTERM to its process, and never to a later one with the same id', async () => {
    const sessions = new Sessions();
    sessions.take(answerTo(first));
    const session = sessions.take(acceptedBy(first));
    const found = findSshd(pidOf(first));
    expect(session?.process).toEqual(found);
    if (found === undefined) return;
    expect(endSshd({ ...found, start: found.start - 1 })).toBe(false);
    const ended = once(first as ChildProcess, 'exit');
    expect(endSshd(found)).toBe(true);
    expect(await ended).toEqual([null, 'SIGTERM']);
    expect(sessions.live()).toEqual([]);
    expect(endSshd(found)).toBe(false);
  });
});
