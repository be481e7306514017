import { newPublicKey } from './keys.js';

export interface Sample {
  /** A call of this route that works: for the path's `:id`, what to create first; and the body. */
  readonly on?: keyof typeof MAKERS;
  readonly body?: () => object | Promise<object>;
  readonly query?: () => Promise<Record<string, string>>;
  /** Modules are set before they are read. */
  readonly before?: { readonly method: string; readonly body: () => object };
}

let n = 0;
const next = (): number => {
  n += 1;
  return n;
};

/** Bodies that create one entity of each resource. */
export const MAKERS = {
  ssh_credentials: () => ({ public_key: newPublicKey() }),
  'edges/tcp': () => ({ hostports: [`host-${next()}.example.test:443`] }),
  users: () => ({ email: `walker-${next()}@example.test` }),
  bot_users: () => ({ name: `walker ${next()}` }),
  api_keys: () => ({}),
};

const MODULES = {
  backend: () => ({ backend_id: `bkdhr_${next()}` }),
  ip_restriction: () => ({ ip_policy_ids: [`ipp_${next()}`] }),
  traffic_policy: () => ({ value: `{"n":${next()}}` }),
};

const resource = (path: keyof typeof MAKERS, change: () => object): Record<string, Sample> => ({
  [`POST /${path}`]: { body: MAKERS[path] },
  [`GET /${path}`]: {},
  [`GET /${path}/:id`]: { on: path },
  [`GET /${path}/:id/events`]: { on: path },
  [`PATCH /${path}/:id`]: { on: path, body: change },
  [`DELETE /${path}/:id`]: { on: path },
});

const edgeModule = (name: keyof typeof MODULES): Record<string, Sample> => {
  const before = { method: 'PUT', body: MODULES[name] };
  return {
    [`PUT /edges/tcp/:id/${name}`]: { on: 'edges/tcp', body: MODULES[name] },
    [`GET /edges/tcp/:id/${name}`]: { on: 'edges/tcp', before },
    [`DELETE /edges/tcp/:id/${name}`]: { on: 'edges/tcp', before },
  };
};

/** A call of each route of the resources, which a caller with an API key may make. */
export const RESOURCE_SAMPLES: Record<string, Sample> = {
  ...resource('ssh_credentials', () => ({ description: `walked ${next()}` })),
  ...resource('edges/tcp', () => ({ description: `walked ${next()}` })),
  ...resource('users', () => ({ active: false })),
  ...resource('bot_users', () => ({ name: `renamed ${next()}` })),
  ...resource('api_keys', () => ({ description: `walked ${next()}` })),
  ...edgeModule('backend'),
  ...edgeModule('ip_restriction'),
  ...edgeModule('traffic_policy'),
};
