import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { stopAtEnd } from '../support/leftovers.js';
import { runCli, stopMain } from '../support/process.js';
import { dataDir, start, useStarts } from '../support/starts.js';

jest.setTimeout(300_000);
useStarts();

const doctor = () => runCli({ DATA_DIR: dataDir(), PORT: '0' }, 'doctor');
const lineOf = (stdout: string, check: string): string =>
  stdout.split('\n').find((line) => line.split(/ +/)[1] === check) ?? '';

describe('doctor on the embedded database', () => {
  it('runs beside an instance and without one, and tells when the disk is nearly full', async () => {
    if (process.getuid?.() !== 0) throw new Error('this test mounts a small file system: run it as root');
    await mkdir(dataDir());
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m,mode=0711', 'tmpfs', dataDir()]);
    const main = start();
    const unmount = stopAtEnd(async () => {
      await stopMain(main);
      execFileSync('umount', [dataDir()]);
    });
    await main.url;
    const beside = await doctor();
    expect([beside.code, beside.stderr]).toEqual([0, '']);
    expect(lineOf(beside.stdout, 'database')).toMatch(
      /^ok .*embedded PostgreSQL .*; a running instance has started it$/,
    );
    expect(lineOf(beside.stdout, 'history')).toMatch(/^ok /);
    expect(lineOf(beside.stdout, 'disk')).toMatch(/^warning .* GiB are free at .*: make room/);
    await stopMain(main);

    await writeFile(join(dataDir(), 'ballast'), Buffer.alloc(240 << 20));
    const alone = await doctor();
    expect(lineOf(alone.stdout, 'database')).toMatch(/^ok .*no instance runs; it was started for this check$/);
    expect([alone.code, lineOf(alone.stdout, 'disk')]).toEqual([
      1,
      expect.stringMatching(/^wrong .*0\.[01] GiB are free/),
    ]);
    expect(existsSync(join(dataDir(), 'postgres', 'postmaster.pid'))).toBe(false);
    await unmount();
  });
});
