import { expect } from '@jest/globals';
import fc from 'fast-check';
import type { Answer } from './api-client.js';
import { refusalsOf } from './refusals.js';
import type { Service } from './service.js';

const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/);
const enabled = fc.boolean();
const modules = {
  backend: fc.record({ enabled, backend_id: id }, { requiredKeys: ['backend_id'] }),
  ip_restriction: fc.record({ enabled, ip_policy_ids: fc.array(id, { maxLength: 3 }) }, { requiredKeys: [] }),
  traffic_policy: fc.record({ enabled, value: fc.string({ unit: 'grapheme' }) }, { requiredKeys: ['value'] }),
};
/** A few hostports in several spellings, so that edges share them. */
const hostport = fc.constantFrom('a:1', 'A.:1', 'b:2', '[::1]:3', '[0::1]:3', 'bücher.example:4', 'c:5');
const valid = {
  description: fc.string({ unit: 'grapheme', maxLength: 20 }),
  metadata: fc.string({ maxLength: 20 }),
  hostports: fc.array(hostport, { maxLength: 4 }),
  ...modules,
};

/** Any JSON, with difficult cases: names such as __proto__, U+0000, halves of surrogate pairs. */
const anything = fc.oneof(
  fc.jsonValue({ stringUnit: 'binary' }),
  fc.constantFrom(null, '\0', '\ud800', '__proto__', 'a:1', -0, {}),
);
const near = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 12, arbitrary: value }, { weight: 1, arbitrary: anything });
const nearRecord = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc
    .record(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, near(value)])), {
      requiredKeys: [],
    })
    .chain((body) => fc.oneof({ weight: 9, arbitrary: fc.constant(body) }, { weight: 1, arbitrary: withMore(body) }));
const withMore = (body: object) =>
  fc.dictionary(fc.string(), anything, { minKeys: 1, maxKeys: 2 }).map((more) => ({ ...body, ...more }));
const ref = nearRecord({ id, uri: id.map((one) => `/ip_policies/${one}`) });
const nearModules = {
  backend: fc.oneof(nearRecord({ enabled, backend_id: id }), nearRecord({ enabled, backend: ref })),
  ip_restriction: fc.oneof(
    nearRecord({ enabled, ip_policy_ids: fc.array(near(id), { maxLength: 3 }) }),
    nearRecord({ enabled, ip_policies: fc.array(near(ref), { maxLength: 3 }) }),
  ),
  traffic_policy: nearRecord({ enabled, value: fc.string() }),
};
const nearBody = near(nearRecord({ ...valid, hostports: fc.array(near(hostport), { maxLength: 4 }), ...nearModules }));

/** Calls with nearly valid bodies. The service accepts each as it shows it later, or refuses it with a reason. */
export class AnyBody {
  private constructor(
    private readonly service: Service,
    /** The edge that PATCH and PUT change. */
    private readonly path: string,
  ) {}

  static async on(service: Service): Promise<AnyBody> {
    return new AnyBody(service, `/edges/tcp/${(await service.admin.post('/edges/tcp', {})).body.id}`);
  }

  post(numRuns: number): Promise<void> {
    const property = fc.asyncProperty(nearBody, (body) =>
      this.expectAcceptedOrRefused(
        () => this.service.admin.post('/edges/tcp', body),
        (taken) => `/edges/tcp/${taken.body.id}`,
      ),
    );
    return fc.assert(property, { numRuns });
  }

  patch(numRuns: number): Promise<void> {
    const property = fc.asyncProperty(nearBody, (body) =>
      this.expectAcceptedOrRefused(
        () => this.service.admin.patch(this.path, body),
        () => this.path,
      ),
    );
    return fc.assert(property, { numRuns });
  }

  putModule(numRuns: number): Promise<void> {
    const puts = fc.oneof(
      ...Object.entries(nearModules).map(([name, bare]) =>
        fc.tuple(fc.constant(name), fc.oneof(bare, nearRecord({ module: bare, id: fc.string() }))),
      ),
    );
    const property = fc.asyncProperty(puts, ([name, body]) =>
      this.expectAcceptedOrRefused(
        () => this.service.admin.put(`${this.path}/${name}`, body),
        () => `${this.path}/${name}`,
      ),
    );
    return fc.assert(property, { numRuns });
  }

  /** An accepted body is what GET shows; a refused body has a reason and stores no event. */
  private async expectAcceptedOrRefused(
    call: () => Promise<Answer>,
    where: (accepted: Answer) => string,
  ): Promise<void> {
    const { eventCount } = refusalsOf(() => this.service);
    const before = await eventCount();
    const answer = await call();
    if (answer.status < 300) {
      expect(await this.service.admin.get(where(answer))).toMatchObject({ status: 200, body: answer.body });
      return;
    }
    // Another account may already have listed the hostport.
    const isTaken = answer.body.error_code === 'ERR_NGROK_7122';
    expect(answer.status).toBe(isTaken ? 409 : 400);
    expect(answer.body).toMatchObject({ error_code: expect.stringMatching(/^ERR_/), msg: expect.stringMatching(/./) });
    expect(await eventCount()).toBe(before);
  }
}
