import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newPublicKey } from '../support/keys.js';
import { type Service, startCopy, startService } from '../support/service.js';

const DEVICES = 10_000;
/** More than the key may enrol. */
const FURTHER = 100;
const AT_ONCE = 16;

let service: Service;
let other: Service;
beforeAll(async () => {
  service = await startService();
  other = await startCopy(service);
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

it('10,000 devices enrol by one key, 16 at once on two instances: as many credentials, and max_uses is exact', async () => {
  const sent = { acl: ['bind:{name}.devices.example.com:443'], max_uses: DEVICES };
  const { body: key } = await service.admin.post('/enrollment_keys', sent);
  const counts: Record<number, number> = {};
  let n = 0;
  const start = performance.now();
  const worker = async (at: Service): Promise<void> => {
    for (n += 1; n <= DEVICES + FURTHER; n += 1) {
      const device = { name: `device-${n}`, public_key: newPublicKey() };
      const { status } = await at.admin.as(key.token).post('/enroll', device);
      counts[status] = (counts[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, w) => worker(w % 2 === 0 ? service : other)));
  const rate = Math.round((1_000 * DEVICES) / (performance.now() - start));
  expect(counts).toEqual({ 201: DEVICES, 409: FURTHER });
  const { rows } = await service.pool.query(
    `select count(*)::int as credentials, count(distinct device_name)::int as names,
      (select uses from enrollment_keys where id = $1) as uses,
      (select count(*)::int from events where stream_id = $1 and type = 'enrollment_key_used.v1') as events
      from ssh_credentials`,
    [key.id],
  );
  expect(rows).toEqual([{ credentials: DEVICES, names: DEVICES, uses: DEVICES, events: DEVICES }]);
  // Each use is an event of one stream, so instances wait for each other. A tenth of this rate is still a fleet in minutes.
  expect(rate).toBeGreaterThan(10);
  process.stdout.write(`${rate} enrolments a second\n`);
}, 1_200_000);
