import { beforeAll, describe, expect, it } from '@jest/globals';
import { startInstance } from '../support/instance.js';
import { newPublicKey } from '../support/keys.js';
import { PostgresServer } from '../support/postgres-server.js';
import { runCli } from '../support/process.js';

/** The commands of the operator that only read take the primary from the service, and a standby too if they are told so. */
let primary: PostgresServer;
let standby: PostgresServer;
let credential: string;

const STANDBY = 'the server is a standby, which may lack the newest changes\n';
const urlOf = ({ host }: PostgresServer): string => `postgres://postgres@${host}/service`;

beforeAll(async () => {
  primary = await PostgresServer.primary();
  await primary.query('create database service');
  standby = await primary.addStandby('standby');
  const instance = await startInstance(urlOf(primary));
  const { body } = await instance.admin.post('/ssh_credentials', { public_key: newPublicKey(), acl: ['bind:a.test'] });
  await instance.admin.patch(`/ssh_credentials/${body.id}`, { acl: ['*'] });
  await instance.stop();
  credential = body.id;
  const replayed = async (): Promise<boolean> => {
    const [{ size }] = await standby.query('select coalesce(max(size), 0)::int as size from log_heads', 'service');
    return size === 5;
  };
  while (!(await replayed())) await new Promise((resolve) => setTimeout(resolve, 50));
});

const readingCommands = (): string[][] => [
  ['accounts', 'list'],
  ['audit', 'show', credential],
  ['audit', 'diff', credential, '--from', '4'],
  ['audit', 'diff', credential, '--from', '4', '--to', new Date().toISOString()],
  ['audit', 'tail'],
  ['audit', 'verify'],
  ['audit', 'export'],
  ['projections', 'prove'],
];

describe('a command that only reads', () => {
  it('answers on a hot standby what it answers on the primary, and says that it is a standby', async () => {
    const withoutTimes = (text: string): string => text.replace(/\b\d+\.\d s\b/g, 'TIME');
    for (const command of readingCommands()) {
      const expected = await runCli({ DATABASE_URL: urlOf(primary) }, ...command);
      expect([command, expected.code]).toEqual([command, 0]);
      const { code, stdout, stderr } = await runCli({ DATABASE_URL: urlOf(standby) }, ...command);
      expect([command, code, stdout]).toEqual([command, 0, expected.stdout]);
      expect(withoutTimes(stderr)).toBe(STANDBY + withoutTimes(expected.stderr));
    }
  });

  it('finds differences on the standby too', async () => {
    await primary.query(`update accounts set name = 'edited'`, 'service');
    const proof = async () => runCli({ DATABASE_URL: urlOf(standby) }, 'projections', 'prove');
    let found = await proof();
    for (; found.code === 0; found = await proof());
    expect(found).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^accounts\t.*\tname\t"edited"\t"Default"\n$/),
    });
    await primary.query(`update accounts set name = 'Default'`, 'service');
  });
});
