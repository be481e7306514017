import { describe, expect, it } from '@jest/globals';
import { PostgresServer } from '../support/postgres-server.js';
import { spawnCli } from '../support/process.js';

const doctor = (host: string) =>
  spawnCli({ PORT: '0', DATABASE_URL: `postgres://postgres:s3cret@${host}/postgres` }, 'doctor');
const linesOf = (stdout: string, check: string): string[] =>
  stdout.split('\n').filter((line) => line.split(/ +/)[1] === check);

describe('doctor', () => {
  it('tells a standby, a read-only and a silent server from a primary, and what a role lacks before its first start', async () => {
    const primary = await PostgresServer.primary('wal_level=replica');
    const standby = await primary.addStandby('one');

    const usable = await doctor(primary.host);
    expect([usable.code, usable.stderr]).toEqual([0, '']);
    expect(linesOf(usable.stdout, 'database')).toEqual([
      expect.stringMatching(new RegExp(`^ok .* PostgreSQL 15\\S+ at ${primary.host}, database postgres`)),
    ]);
    expect(linesOf(usable.stdout, 'plans')).toEqual([
      expect.stringMatching(/^warning .*postgres lacks enable_seqscan = off, .*: the next start sets its defaults$/),
    ]);
    expect(linesOf(usable.stdout, 'migrations')).toEqual([expect.stringMatching(/^warning .*has no tables yet/)]);

    const alone = await doctor(standby.host);
    expect([alone.code, linesOf(alone.stdout, 'database')[0]]).toEqual([1, expect.stringMatching(/is a standby/)]);
    await primary.set({ default_transaction_read_only: 'on' });
    const readOnly = await doctor(primary.host);
    expect([readOnly.code, linesOf(readOnly.stdout, 'database')[0]]).toEqual([
      1,
      expect.stringMatching(/is read-only/),
    ]);
    await primary.pause();
    const silent = await doctor(primary.host);
    expect([silent.code, linesOf(silent.stdout, 'database')[0]]).toEqual([1, expect.stringMatching(/timeout/)]);
    for (const { stdout } of [usable, alone, readOnly, silent]) expect(stdout).not.toContain('s3cret');
    await primary.resume();
  });
});
