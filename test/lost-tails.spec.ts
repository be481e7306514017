import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApp } from '../src/app.js';
import { newCheckpointKey } from '../src/log/seal/checkpoint-key.js';
import { seal } from '../src/log/seal/seal.js';
import { SealedLogs } from '../src/log/seal/sealed-logs.js';
import { ServiceLog } from '../src/service-log/service-log.js';
import { ApiClient } from './support/api-client.js';
import { METRICS_TOKEN, scrape, seriesValue } from './support/metrics.js';
import { ADMIN_KEY, type Service, startService, testConfig } from './support/service.js';
import { HASH_ANEW, whileTampered } from './support/tampering.js';

const KEY = newCheckpointKey('tunnels.example.com');
let plain: Service;
let account: string;
beforeAll(async () => {
  // Without a key, so that it seals nothing by itself.
  plain = await startService();
  account = (await plain.pool.query('select account_id from accounts')).rows[0].account_id;
});
afterAll(() => plain.stop());

class CollectedLog extends ServiceLog {
  readonly messages: string[] = [];

  override line(_level: string, _fields: object, message: string): void {
    this.messages.push(message);
  }
}

/** An instance that signs checkpoints, with what it logs. */
async function withSealer(work: (instance: Instance) => Promise<void>): Promise<void> {
  const log = new CollectedLog('error');
  const config = testConfig(plain.databaseUrl, { checkpointKey: KEY, metricsToken: METRICS_TOKEN });
  const app = await createApp(config, log);
  try {
    await work({ client: new ApiClient(app.url, ADMIN_KEY), url: app.url, logged: () => log.messages.join('\n') });
  } finally {
    await app.close();
  }
}

interface Instance {
  readonly client: ApiClient;
  readonly url: string;
  readonly logged: () => string;
}

const stateOf = async ({ url }: Instance) => {
  const { status, body } = await new ApiClient(url, undefined).get('/readyz');
  return [status, body.checkpoints, seriesValue(await scrape(url), 'tunnel_access_lost_logs')];
};
const IN_ORDER = [200, 'on', 0];
const ALARM = [200, 'ALARM: signed events are lost or changed, in 1 of the logs', 1];

/** The guarantee is one look of the sealer, which comes every second. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 300 && !(await isSo()); attempt += 1) {
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
const alarm = async (instance: Instance) => {
  await until(async () => (await stateOf(instance))[2] === 1);
  return stateOf(instance);
};

/** Adds events, and waits until the instance has signed them. */
async function grow({ client }: Instance, events: number): Promise<number> {
  let position = 0;
  for (let n = 0; n < events; n += 1) {
    position = Number((await client.post('/edges/tcp', {})).headers.get('log-position'));
  }
  await until(async () => (await client.get(`/log/proof?position=${position}`)).status === 200);
  // Its memory has the checkpoint at its next look.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  return position;
}

const cut = (to: number): string =>
  `delete from events where position > ${to}; update log_heads set size = ${to}; delete from log_checkpoints where size > ${to}`;

describe('a log that is shorter than one that was signed', () => {
  it('raises an alarm in the log, /readyz and the metrics of an instance that has seen it, and is signed no more', async () => {
    await withSealer(async (instance) => {
      await grow(instance, 1);
      const size = await grow(instance, 2);
      expect(await stateOf(instance)).toEqual(IN_ORDER);
      await whileTampered(plain.databaseUrl, cut(size - 2), async () => {
        expect(await alarm(instance)).toEqual(ALARM);
        expect(instance.logged()).toContain(
          `ALARM: a checkpoint of ${size} events of the log of ${account} was signed, but it has ${size - 2} events: its tail is lost. `,
        );
        expect(instance.logged().split('ALARM').length).toBe(2);
        for (let n = 0; n < 3; n += 1) await instance.client.post('/edges/tcp', {});
        await until(async () => instance.logged().includes('its last checkpoint here is of'));
        expect(instance.logged()).toContain(`its last checkpoint here is of ${size - 2}`);
        expect((await plain.pool.query('select max(size)::int as size from log_checkpoints')).rows).toEqual([
          { size: size - 2 },
        ]);
      });
      expect(await stateOf(instance)).toEqual(ALARM);
    });
  });

  it('raises the alarm when nothing of it is left, and at an instance that only saw another one sign', async () => {
    await withSealer(async (instance) => {
      const size = await grow(instance, 1);
      await withSealer(async (second) => {
        await new Promise((resolve) => setTimeout(resolve, 1_100));
        await whileTampered(
          plain.databaseUrl,
          'delete from events; delete from log_heads; delete from log_checkpoints',
          async () => {
            for (const one of [instance, second]) {
              expect(await alarm(one)).toEqual(ALARM);
              expect(one.logged()).toContain(
                `a checkpoint of ${size} events of the log of ${account} was signed, but it has 0`,
              );
            }
          },
        );
      });
    });
  });

  it('raises the alarm at an instance that was started after the loss, once a witness shows what it kept', async () => {
    let [size, known] = [0, ''];
    await withSealer(async (instance) => {
      await grow(instance, 1);
      size = await grow(instance, 1);
      known = (await instance.client.get('/log/checkpoint')).body;
    });
    await whileTampered(plain.databaseUrl, cut(size - 1), () =>
      withSealer(async (restarted) => {
        const path = `/log/checkpoint?${new URLSearchParams({ known })}`;
        expect((await restarted.client.get(path)).body).toContain(`\n${size - 1}\n`);
        expect(await alarm(restarted)).toEqual(ALARM);
      }),
    );
  });

  it('or that was written anew, raises the alarm once a witness shows what it kept, and at no other checkpoint', async () => {
    let [size, known] = [0, ''];
    await withSealer(async (instance) => {
      size = await grow(instance, 1);
      known = (await instance.client.get('/log/checkpoint')).body;
    });
    const edit = `update events set metadata = replace(metadata, '127.0.0.1', '192.0.2.1'); ${HASH_ANEW};
      delete from log_checkpoints; delete from log_tiles`;
    await whileTampered(plain.databaseUrl, edit, async () => {
      await seal(new SealedLogs(plain.pool), KEY, { accountId: account, size, sealed: 0 });
      await withSealer(async (restarted) => {
        const show = (note: string) => restarted.client.get(`/log/checkpoint?${new URLSearchParams({ known: note })}`);
        const { body: own } = await restarted.client.get('/log/checkpoint');
        for (const harmless of [own, 'x', known.replace(`\n${size}\n`, `\n${size + 5}\n`)]) {
          expect((await show(harmless)).status).toBe(200);
        }
        expect(await stateOf(restarted)).toEqual(IN_ORDER);
        expect((await show(known)).status).toBe(200);
        expect(await stateOf(restarted)).toEqual(ALARM);
        expect(restarted.logged()).toContain(
          `a checkpoint of ${size} events of the log of ${account} was signed that its events do not make`,
        );
      });
    });
  });

  it('has no value in the metrics while checkpoints are off', async () => {
    const app = await createApp(testConfig(plain.databaseUrl, { metricsToken: METRICS_TOKEN }));
    expect(await scrape(app.url)).not.toMatch(/^tunnel_access_lost_logs /m);
    await app.close();
  });
});
