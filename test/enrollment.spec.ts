import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { READ_MODELS } from '../src/api/read-models.js';
import type { Answer, ApiClient } from './support/api-client.js';
import { newPublicKey } from './support/keys.js';
import { addUser } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { expectRowsToBeTheFoldOfTheLog } from './support/replay.js';
import { GATEWAY, type Service, startCopy, startService } from './support/service.js';
import { ReportingGateway } from './support/session-reports.js';

const POOL = { host: '1.tcp.example.com', from: 20_000, to: 20_499, region: 'eu' };
const SETTINGS = { ...GATEWAY, addressPools: [POOL] };
const HOST_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB4d3XkgzFyHVGZ+LFUBdyDlGX+5Hh7hXIJO6X+fTPvs';

let service: Service;
let other: Service;
let admin: ApiClient;
beforeAll(async () => {
  service = await startService(SETTINGS);
  other = await startCopy(service, SETTINGS);
  admin = service.admin;
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

const { expectRefusal, eventCount } = refusalsOf(() => service);

let n = 0;
const newName = (): string => {
  n += 1;
  return `device-${n}`;
};
const ACL = ['bind:{name}.devices.example.com:443'];
const newKey = async (body: object = {}): Promise<{ readonly id: string; readonly token: string }> => {
  const answer = await admin.post('/enrollment_keys', { acl: ACL, max_uses: 100, ...body });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body;
};
const enrol = (token: string, name = newName(), public_key = newPublicKey(), at = service): Promise<Answer> =>
  at.admin.as(token).post('/enroll', { name, public_key });
const usesOf = async (id: string): Promise<number> => (await admin.get(`/enrollment_keys/${id}`)).body.uses;
const eventsOf = async (id: string) => (await admin.get(`/events?stream=${id}`)).body.events;

describe('an enrollment key', () => {
  it('is for admins; its token is in the answer that creates it alone, and no event, row or list has it', async () => {
    const member = await addUser(service, 'member');
    const sent = { acl: ACL, max_uses: 1 };
    await expectRefusal(() => member.client.post('/enrollment_keys', sent), 403, 'ERR_NGROK_635', /Only admins/);
    const { id, token } = await newKey({ description: 'cameras' });
    expect(token).toMatch(/^enroll_[0-9A-Za-z]{27}_[\w-]{32}$/);
    for (const path of [`/enrollment_keys/${id}`, '/enrollment_keys', `/enrollment_keys/${id}/events`, '/events']) {
      expect(JSON.stringify((await admin.get(path)).body)).not.toMatch(/token_hash|enroll_/);
    }
    expect((await member.client.get(`/enrollment_keys/${id}`)).status).toBe(404);
    const { rows } = await service.pool.query('select row_to_json(k)::text as row from enrollment_keys k');
    expect(rows.map(({ row }) => row).join()).not.toContain(token);
  });

  it('opens no other route, and an API key does not enrol', async () => {
    const { id, token } = await newKey();
    const refused = { status: 401, body: { error_code: 'ERR_NGROK_203' } };
    expect(await admin.as(token).get('/ssh_credentials')).toMatchObject(refused);
    expect(await admin.as(token).delete(`/enrollment_keys/${id}`)).toMatchObject(refused);
    expect(await enrol(admin.token ?? '')).toMatchObject(refused);
  });

  it.each([
    [{ acl: [] }, 'ERR_NGROK_600', /acl is empty/],
    [{ acl: ['bind:{name}'] }, 'ERR_NGROK_600', /two further labels/],
    [{ acl: ['bind:{addr}'] }, 'ERR_NGROK_600', /reserve_addr: true/],
    [{ max_uses: 0 }, 'ERR_TAS_400', /1 to 100000/],
    [{ max_uses: 2, name: 'camera' }, 'ERR_TAS_400', /max_uses must be 1/],
    [{ max_uses: 1, name: '1234' }, 'ERR_TAS_400', /digits alone/],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 'ERR_TAS_400', /in the past/],
  ])('is refused: %j', async (body, code, message) => {
    const sent = { acl: ACL, max_uses: 1, ...body };
    await expectRefusal(() => admin.post('/enrollment_keys', sent), 400, code, message);
  });

  it('is refused with 401 at every instance once it is deleted or has expired, each with its sentence', async () => {
    const { id, token } = await newKey();
    const enrolAt = (at: Service) => enrol(token, newName(), newPublicKey(), at);
    for (const at of [service, other, service]) expect((await enrolAt(at)).status).toBe(201);
    expect((await admin.delete(`/enrollment_keys/${id}`)).status).toBe(204);
    expect((await enrolAt(other)).status).toBe(401);
    await expectRefusal(() => enrol(token), 401, 'ERR_NGROK_203', /unknown or was deleted/);
    const brief = await newKey({ expires_at: new Date(Date.now() + 3_600_000).toISOString() });
    await service.pool.query(`update enrollment_keys set expires_at = now() - interval '1 s' where id = $1`, [
      brief.id,
    ]);
    await expectRefusal(() => enrol(brief.token), 401, 'ERR_NGROK_203', /has expired/);
    await service.pool.query('update enrollment_keys set expires_at = $2 where id = $1', [
      brief.id,
      (await eventsOf(brief.id))[0].data.expires_at,
    ]);
  });

  it('counts for the limit of failed authentications if it is wrong, and a right one still works', async () => {
    const limited = await startCopy(service, { ...SETTINGS, authFailuresPerMinute: 2 });
    const { token } = await newKey();
    const wrong = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`;
    const statuses: number[] = [];
    for (const sent of [wrong, wrong, wrong, token]) {
      statuses.push((await enrol(sent, newName(), newPublicKey(), limited)).status);
    }
    expect(statuses).toEqual([401, 401, 429, 201]);
    await limited.stop();
  });

  it('goes with its owner', async () => {
    const owner = await addUser(service, 'member');
    const { id, token } = await newKey({ owner_id: owner.id });
    expect((await enrol(token)).body.credential.owner_id).toBe(owner.id);
    await admin.patch(`/users/${owner.id}`, { active: false });
    await expectRefusal(() => enrol(token), 400, 'ERR_NGROK_636', /not active/);
    await admin.delete(`/users/${owner.id}`);
    expect((await admin.get(`/enrollment_keys/${id}`)).status).toBe(404);
    await expectRefusal(() => enrol(token), 401, 'ERR_NGROK_203', /unknown or was deleted/);
  });
});

describe('POST /enroll', () => {
  it('makes the credential, its address and the use of the key in one append, with the key as who did it', async () => {
    const { id, token } = await newKey({ acl: [...ACL, 'bind:{addr}'], reserve_addr: true });
    const name = newName();
    const { body, headers } = await enrol(token, name);
    expect(body).toMatchObject({
      credential: { description: name, acl: [`bind:${name}.devices.example.com:443`, `bind:${body.address}`] },
      address: expect.stringMatching(/^1\.tcp\.example\.com:20\d{3}$/),
    });
    const after = Number(headers.get('log-position')) - 3;
    const { events } = (await admin.get(`/events?after=${after}`)).body;
    expect(events.map(({ type, actor }: { type: string; actor: string }) => [type, actor])).toEqual([
      ['reserved_addr_created.v1', id],
      ['ssh_credential_created.v1', id],
      ['enrollment_key_used.v1', id],
    ]);
    expect(events[2].data).toMatchObject({ name, credential_id: body.credential.id });
    expect(await usesOf(id)).toBe(1);
  });

  it('answers the same to the same name and key, and uses nothing up, even of a key that is used up', async () => {
    const { id, token } = await newKey({ max_uses: 1, acl: ['bind:{addr}'], reserve_addr: true });
    const [name, key] = [newName(), newPublicKey()];
    const first = await enrol(token, name, key);
    const before = await eventCount();
    const { body } = await enrol(token, name, key, other);
    expect([body.credential.id, body.address]).toEqual([first.body.credential.id, first.body.address]);
    expect([await eventCount(), await usesOf(id)]).toEqual([before, 1]);
    await expectRefusal(() => enrol(token), 409, 'ERR_TAS_409', /used once, which is its max_uses/);
  });

  it('replaces nobody by a key for many: a name with another key is 409 with its id and when it was last seen', async () => {
    const { id, token } = await newKey();
    const name = newName();
    const { body } = await enrol(token, name);
    const refused = await enrol(token, name);
    expect(refused).toMatchObject({
      status: 409,
      body: { details: { id: body.credential.id, last_seen_at: 'never' } },
    });
    expect(await usesOf(id)).toBe(1);
    expect((await admin.get(`/ssh_credentials/${body.credential.id}`)).body).toEqual(body.credential);
  });

  it('replaces the credential of a reinstalled device by a key for its name alone, which keeps its address', async () => {
    const many = await newKey({ acl: ['bind:{addr}'], reserve_addr: true });
    const name = newName();
    const { body: old } = await enrol(many.token, name);
    const one = await newKey({ acl: ['bind:{addr}'], reserve_addr: true, name, max_uses: 1 });
    await expectRefusal(() => enrol(one.token), 400, 'ERR_TAS_400', /for the name/);
    const { body } = await enrol(one.token, name);
    expect(body.address).toBe(old.address);
    expect((await admin.get(`/ssh_credentials/${old.credential.id}`)).status).toBe(404);
    const events = await eventsOf(one.id);
    expect(events[1].data).toMatchObject({ name, replaced_credential_id: old.credential.id });
    expect((await eventsOf(body.credential.id))[0].data).toMatchObject({ replaces: old.credential.id });
  });

  it.each([false, true])('replaces what a rotation made of a device too, strict or not: %s', async (strict) => {
    const at = strict ? await startCopy(service, { ...SETTINGS, strict }) : service;
    const many = await newKey({ acl: ['bind:{addr}'], reserve_addr: true });
    const name = newName();
    const old = await enrol(many.token, name, newPublicKey(), at);
    const [oldId, renewed] = [old.body.credential.id, newPublicKey()];
    const rotation = { public_key: renewed, overlap_seconds: 600 };
    const { body: rotated } = await at.admin.post(`/ssh_credentials/${oldId}/rotate`, rotation);
    const again = await enrol(many.token, name, renewed, at);
    expect([again.body.credential.id, again.body.address]).toEqual([rotated.id, old.body.address]);
    const one = await newKey({ acl: ['bind:{addr}'], reserve_addr: true, name, max_uses: 1 });
    const { body } = await enrol(one.token, name, newPublicKey(), at);
    expect(body.address).toBe(old.body.address);
    // A rotation let the first one live on for a while. Whoever stole the device has it too.
    for (const id of [oldId, rotated.id]) expect((await admin.get(`/ssh_credentials/${id}`)).status).toBe(404);
    if (strict) await at.stop();
  });

  it('replaces once if a key for one name enrols two devices at once on two instances', async () => {
    const name = newName();
    const one = await newKey({ name, max_uses: 1 });
    const both = await Promise.all([service, other].map((at) => enrol(one.token, name, newPublicKey(), at)));
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(await usesOf(one.id)).toBe(1);
  });

  it.each(['1234', 'xn--bcher-kva', 'a.b', 'A', '-a', ''])('refuses the name %j', async (name) => {
    const { token } = await newKey();
    await expectRefusal(() => enrol(token, name), 400, 'ERR_TAS_400', /name .* must be 1 to 63/);
  });

  it('uses nothing up if there is no free address, or no room for a reservation', async () => {
    const settings = { ...SETTINGS, addressPools: [{ ...POOL, to: 20_001 }], maxReservations: 3 };
    const small = await startService(settings);
    const send = (token: string) =>
      small.admin.as(token).post('/enroll', { name: newName(), public_key: newPublicKey() });
    const made = await small.admin.post('/enrollment_keys', { acl: ACL, max_uses: 9, reserve_addr: true });
    const { id, token } = made.body;
    for (const status of [201, 201, 409]) expect((await send(token)).status).toBe(status);
    expect((await small.admin.get(`/enrollment_keys/${id}`)).body.uses).toBe(2);
    await small.admin.post('/reserved_domains', { domain: 'a.example.com' });
    expect((await send(token)).body.msg).toMatch(/no free address|MAX_RESERVATIONS/);
    expect((await small.admin.get('/ssh_credentials')).body.ssh_credentials).toHaveLength(2);
    await small.stop();
  });

  it('says how to connect as gateways report it, and what is not known', async () => {
    const { token } = await newKey();
    const unknown = (await enrol(token)).body;
    expect(unknown).toMatchObject({
      ssh: null,
      known_hosts: null,
      note: expect.stringContaining('no gateway reports'),
    });
    const gateway = { address: 'ssh.example.com:2222', host_keys: [HOST_KEY], hosts: [] };
    await new ReportingGateway(service.gateway).whole({ gateway });
    const name = newName();
    expect((await enrol(token, name)).body).toMatchObject({
      ssh: `ssh -N -p 2222 -R ${name}.devices.example.com:443:localhost:3000 ssh.example.com`,
      known_hosts: `[ssh.example.com]:2222 ${HOST_KEY}\n`,
      note: null,
    });
  });

  it('is exact on two instances at once: max_uses credentials, each name once, and rows that are the fold of the log', async () => {
    const [max, names] = [40, 60];
    const { id, token } = await newKey({ max_uses: max, acl: ['bind:{addr}'], reserve_addr: true });
    const all = Array.from({ length: names }, newName).flatMap((name, at) => [
      { name, at: at % 2 === 0 ? service : other },
      { name, at: at % 2 === 0 ? other : service },
    ]);
    const statuses: number[] = [];
    const worker = async (): Promise<void> => {
      for (let one = all.shift(); one !== undefined; one = all.shift()) {
        statuses.push((await enrol(token, one.name, newPublicKey(), one.at)).status);
      }
    };
    await Promise.all(Array.from({ length: 16 }, worker));
    expect(statuses.filter((status) => status === 201)).toHaveLength(max);
    expect(statuses.filter((status) => status === 409)).toHaveLength(2 * names - max);
    expect(await usesOf(id)).toBe(max);
    const { rows } = await service.pool.query(
      `select count(*)::int as n, count(distinct c.device_name)::int as names, count(distinct c.device_addr)::int as addrs
        from events e join ssh_credentials c on c.id = e.data::json ->> 'credential_id' where e.stream_id = $1`,
      [id],
    );
    expect(rows[0]).toEqual({ n: max, names: max, addrs: max });
    for (const model of READ_MODELS) await expectRowsToBeTheFoldOfTheLog(service.pool, model);
  });
});
