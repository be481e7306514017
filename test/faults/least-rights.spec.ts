import { expect, it } from '@jest/globals';
import { PostgresServer } from '../support/postgres-server.js';
import { addUser } from '../support/principals.js';
import { callerOf, prepareSample, SAMPLES } from '../support/route-samples.js';
import { makeTwoRoles, startAs } from '../support/two-roles.js';

it('on Debian’s PostgreSQL too, every route works for a role that owns nothing and cannot change events', async () => {
  const server = await PostgresServer.primary();
  const roles = await makeTwoRoles(server.url());
  await (await startAs(roles.serviceUrl, roles.ownerUrl)).stop();
  const service = await startAs(roles.serviceUrl);
  const walk = { service, admin: await addUser(service, 'admin') };
  for (const route of Object.keys(SAMPLES)) {
    const { call } = await prepareSample(walk, route);
    const { status } = await call(callerOf(walk, route));
    expect([route, [200, 201, 204].includes(status)]).toEqual([route, true]);
  }
  for (const change of [`update events set type = 'x'`, 'delete from events', 'truncate events', 'create table t ()']) {
    await expect(service.pool.query(change)).rejects.toMatchObject({ code: '42501' });
  }
  await service.stop();
});
