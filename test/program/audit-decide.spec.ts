import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { untilWritten, upload } from '../support/decisions.js';
import { newPublicKey } from '../support/keys.js';
import { addAccount, type TestPrincipal } from '../support/principals.js';
import { runCli } from '../support/process.js';
import { GATEWAY, type Service, startService } from '../support/service.js';

/** `audit decide ID` makes a recorded bind decision again, from the log. */
let service: Service;
let tenant: TestPrincipal;
let credential: Awaited<ReturnType<typeof upload>>;
let id: string;

beforeAll(async () => {
  service = await startService(GATEWAY);
  tenant = await addAccount(service);
  credential = await upload(service, tenant.client, {
    public_key: newPublicKey(),
    acl: ['bind:k=v', 'bind:app.example.com'],
  });
  const { fingerprint } = credential;
  await service.gateway.post('/ssh_gateway/authorize', {
    fingerprint,
    target: { domain: 'app.example.com' },
    source: 'a\u009bb',
  });
  await untilWritten(service.gateway);
  id = (await tenant.client.get('/bind_decisions')).body.bind_decisions[0].id;
});
afterAll(() => service.stop());

const decide = (...args: string[]) => runCli({ DATABASE_URL: service.databaseUrl }, 'audit', 'decide', ...args);

async function edit(change: string): Promise<void> {
  const client = await service.pool.connect();
  await client.query(
    `begin; set local session_replication_role = replica; update bind_decisions set ${change}; commit`,
  );
  client.release();
}

it('exits with 0 if the log says the same, and tells what was asked, answered and by which rule, as of which position', async () => {
  await tenant.client.patch(`/ssh_credentials/${credential.id}`, { acl: [] });
  const { code, stdout, stderr } = await decide(id);
  expect([code, stderr]).toEqual([0, '']);
  const answer = `permitted by acl[1] "bind:app.example.com", ${credential.id} version 1 of ${tenant.id} in ${tenant.accountId}`;
  const { rows } = await service.pool.query('select log_position from bind_decisions');
  expect(stdout.trimEnd().split('\n')).toEqual([
    expect.stringMatching(new RegExp(`^${id}, decided \\d{4}-.*Z for the gateway 127\\.0\\.0\\.1$`)),
    `asked: may ${credential.fingerprint} bind "app.example.com", from "a\\u009bb"?`,
    `answered then: ${answer}`,
    expect.stringContaining(`as of: position ${rows[0].log_position} of the log of ${tenant.accountId}, read `),
    `the log says: ${answer}`,
    'the same',
  ]);
});

it('shows no control character of the record', async () => {
  await edit(`gateway = E'\\r\\u001b[2KOK\\n\\u009b8m'`);
  expect((await decide(id)).stdout).toContain(' for the gateway \\u000d\\u001b[2KOK\\u000a\\u009b8m\n');
});

it('exits with 1 if the record says otherwise, and names each difference', async () => {
  await edit(`allowed = false, reason = 'not_permitted', rule = null, rule_index = null`);
  const { code, stdout, stderr } = await decide(id);
  expect([code, stderr]).toEqual([1, '']);
  expect(stdout.split('\n').slice(-6)).toEqual([
    '    allowed: false -> true',
    '    reason: "not_permitted" -> "permitted"',
    '    matched_rule: null -> "bind:app.example.com"',
    '    rule_index: null -> 1',
    'different',
    '',
  ]);
  await edit('log_position = 1000000');
  const lost = await decide(id);
  expect(lost).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/\ndifferent: the log of ac_\w+ ends at position \d+, so the events/),
  });
});

it.each([
  ['log_position = null, read_at = null', 'its read_at is not a time'],
  [`read_at = 'infinity'`, 'its read_at is not a time'],
  [`read_at = '20000-01-01'`, 'its read_at is not a time'],
  [`decided_at = 'infinity'`, 'its decided_at is not a time'],
  ['key_denied = null', 'it does not say whether the key was denied (key_denied)'],
  [`target = '{"x":1}'`, 'its target is not one that a gateway can ask for'],
])('exits with 1 for a record that the service cannot have written: %s', async (change, said) => {
  const { rows } = await service.pool.query('select * from bind_decisions where id = $1', [id]);
  await edit(change);
  const stdout = `different: someone has changed the record: ${said}\n`;
  expect(await decide(id)).toEqual({ code: 1, stdout, stderr: '' });
  await edit(`(log_position, read_at, decided_at, key_denied, target) =
    (select log_position, read_at, decided_at, key_denied, target
     from json_populate_record(null::bind_decisions, '${JSON.stringify(rows[0])}'))`);
});

it('exits with 2 for a decision of an earlier version, an unknown id and another word', async () => {
  await edit('key_denied = null, log_position = null, read_at = null, rule_index = null');
  const of = (stderr: RegExp) => ({ code: 2, stdout: '', stderr: expect.stringMatching(stderr) });
  expect(await decide(id)).toMatchObject(
    of(/cannot be made again: it has no log_position, .* An earlier version of the service made it, or someone/),
  );
  expect(await decide('bd_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA')).toMatchObject(of(/^there is no bind decision bd_/));
  expect(await decide('sshcr_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA')).toMatchObject(of(/is not the id of a bind decision/));
  expect(await decide()).toMatchObject({ code: 2 });
});
