import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from '../support/api-client.js';
import { newPublicKey } from '../support/keys.js';
import { logLines, startMain, stopMain } from '../support/process.js';
import { ADMIN_KEY, cloneDatabase } from '../support/service.js';

/** The output of the program itself, which goes to no terminal here. */

const SECRETS = {
  token: `Bearer ${'s3cret'.repeat(6)}`,
  url: 'postgres://me:pass-word@db/x',
};

/** An option by which Node runs this code in the program, once the service starts in it. */
const running = (code: string): string => {
  const whenReady = `const timer = setInterval(() => {
    if (process.listenerCount('SIGTERM') === 0) return;
    clearInterval(timer);
    ${code}
  }, 1)`;
  return `--import=data:text/javascript,${encodeURIComponent(whenReady)}`;
};

let database: Awaited<ReturnType<typeof cloneDatabase>>;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

describe('every line of the log is JSON with an ISO time and a standard level', () => {
  it('from the start to the stop, with warnings of Node, errors with their stacks, and nothing of a secret', async () => {
    const main = startMain({
      DATABASE_URL: database.url,
      BOOTSTRAP_API_KEY: ADMIN_KEY,
      NODE_OPTIONS: running(`process.emitWarning('careful with ${SECRETS.token}')`),
    });
    const url = await main.url;
    const admin = new ApiClient(url, ADMIN_KEY);
    expect((await admin.post('/ssh_credentials', { public_key: newPublicKey() })).status).toBe(201);
    expect((await admin.get('/no/such/path')).status).toBe(404);
    const { code } = await stopMain(main);
    expect(code).toBe(0);
    const lines = logLines(main);
    for (const line of lines) {
      expect(line).toMatchObject({
        level: expect.stringMatching(/^(info|warn)$/),
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        pid: main.child.pid,
        hostname: expect.any(String),
        msg: expect.any(String),
      });
    }
    expect(lines.map(({ msg }) => msg)).toEqual([
      'careful with Bearer [redacted]',
      'CHECKPOINT_KEY is not set, so the logs get no signed checkpoints',
      expect.stringContaining('the first API key has fewer than 32 characters'),
      expect.stringContaining("created now; the admin's API key is the value of BOOTSTRAP_API_KEY"),
      expect.stringContaining(`ready at ${url} on PostgreSQL at`),
      'POST /ssh_credentials 201',
      'GET (no route) 404',
      'SIGTERM: finishing the requests in flight',
      'stopped',
    ]);
  });

  it('also when an error that was not caught ends the program: with its stack, without the secrets in it', async () => {
    // The stack names the code, which must not hold the secrets as they are.
    const [url, token] = [SECRETS.url, SECRETS.token].map((secret) => `atob('${btoa(secret)}')`);
    const thrown = `Object.assign(new TypeError('no ' + ${url}), { token: ${token}, detail: 'x' })`;
    const main = startMain({ DATABASE_URL: database.url, NODE_OPTIONS: running(`throw ${thrown}`) });
    const { code, output } = await main.ended;
    expect(code).toBe(70);
    const stack = expect.stringMatching(/^TypeError: no postgres:\/\/\[redacted]@db\/x\n {4}at /);
    const err = { type: 'TypeError', message: 'no postgres://[redacted]@db/x', stack };
    expect(logLines(main)).toEqual([
      expect.objectContaining({ level: 'fatal', exit_code: 70, msg: expect.stringContaining('internal error'), err }),
    ]);
    expect(output).not.toMatch(/pass-word|s3cret/);
  });
});

it('LOG_LEVEL=error has start and stop too; a reader of the log that goes away does not end the service', async () => {
  const main = startMain({ DATABASE_URL: database.url, LOG_LEVEL: 'error', BOOTSTRAP_API_KEY: ADMIN_KEY });
  const admin = new ApiClient(await main.url, ADMIN_KEY);
  expect((await admin.get('/no/such/path')).status).toBe(404);
  expect(logLines(main).map(({ msg }) => msg)).toEqual([
    expect.stringContaining('takes effect only until'),
    expect.stringContaining('ready at'),
  ]);
  main.child.stdout?.destroy();
  main.child.kill('SIGHUP');
  expect((await main.ended).code).toBe(0);
});
