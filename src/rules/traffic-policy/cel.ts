import { type ASTNode, Environment } from '@marcbachmann/cel-js';

/** A node of a parsed expression. */
export type CelNode = ASTNode;

/** The names of types in the signatures of functions. */
export const TIMESTAMP = 'google.protobuf.Timestamp';
export const DURATION = 'google.protobuf.Duration';

/** Limits of one expression; the steps of expression-steps.ts bound its time. */
const LIMITS = { maxAstNodes: 20_000, maxDepth: 24, maxListElements: 20_000, maxMapEntries: 1_000 };

/** A group of variables, such as `conn.ts`. cel-js knows a type by its class, so each group has its own. */
const groupClass = () =>
  class {
    constructor(fields: object) {
      Object.assign(this, fields);
    }
  };
const Connection = groupClass();
const ConnectionTimes = groupClass();
const Endpoint = groupClass();
const Time = groupClass();
const Actions = groupClass();
const OwnActions = groupClass();
const RestrictIps = groupClass();
const RestrictIpsError = groupClass();

/** What an action of `restrict-ips` found. Its fields are absent before the first such action of a policy. */
export interface RestrictIpsResult {
  readonly action?: 'allow' | 'deny';
  readonly matched_cidr?: string;
  readonly error: { readonly code?: string; readonly message?: string };
}

/** The values of all variables. */
export interface Variables {
  readonly clientIp: string;
  readonly clientPort: number;
  readonly serverIp: string;
  readonly serverPort: number;
  readonly startedAt: Date;
  readonly endpointId: string;
  /** RFC 3339, since `time.now` is a string in the public documents. */
  readonly now: string;
}

/** Every variable with the most characters of its value; 0 for a value that is no text. */
export const VARIABLES: ReadonlyMap<string, number> = new Map([
  ['conn.client_ip', 45],
  ['conn.client_port', 0],
  ['conn.server_ip', 45],
  ['conn.server_port', 0],
  ['conn.ts.start', 0],
  ['endpoint.id', 64],
  ['time.now', 32],
  ['actions.ngrok.restrict_ips.action', 5],
  ['actions.ngrok.restrict_ips.matched_cidr', 49],
  ['actions.ngrok.restrict_ips.error.code', 32],
  ['actions.ngrok.restrict_ips.error.message', 128],
]);

/**
 * CEL by @marcbachmann/cel-js: 0.3 MB without a dependency, ESM, alive, with a type check and the parsed expression in
 * its public API. @bufbuild/cel 0.6 is closer to the specification, but takes 11 MB with what it needs, does not export
 * its type check, and took five times as long for the expressions of the public documents.
 */
export function celEnvironment(): Environment {
  return BASE.clone();
}

const BASE = new Environment({ limits: LIMITS })
  .registerType('ConnectionTimes', { ctor: ConnectionTimes, fields: { start: TIMESTAMP } })
  .registerType('Connection', {
    ctor: Connection,
    fields: { client_ip: 'string', client_port: 'int', server_ip: 'string', server_port: 'int', ts: 'ConnectionTimes' },
  })
  .registerType('Endpoint', { ctor: Endpoint, fields: { id: 'string' } })
  .registerType('Time', { ctor: Time, fields: { now: 'string' } })
  .registerType('RestrictIpsError', { ctor: RestrictIpsError, fields: { code: 'string', message: 'string' } })
  .registerType('RestrictIps', {
    ctor: RestrictIps,
    fields: { action: 'string', matched_cidr: 'string', error: 'RestrictIpsError' },
  })
  .registerType('OwnActions', { ctor: OwnActions, fields: { restrict_ips: 'RestrictIps' } })
  .registerType('Actions', { ctor: Actions, fields: { ngrok: 'OwnActions' } })
  .registerVariable('conn', 'Connection')
  .registerVariable('endpoint', 'Endpoint')
  .registerVariable('time', 'Time')
  .registerVariable('actions', 'Actions');

/** Variables in the form that cel-js takes. */
export type Bindings = Readonly<Record<string, object>>;

export const bindingsOf = (variables: Variables): Bindings => ({
  conn: new Connection({
    client_ip: variables.clientIp,
    client_port: BigInt(variables.clientPort),
    server_ip: variables.serverIp,
    server_port: BigInt(variables.serverPort),
    ts: new ConnectionTimes({ start: variables.startedAt }),
  }),
  endpoint: new Endpoint({ id: variables.endpointId }),
  time: new Time({ now: variables.now }),
  ...restrictIpsBinding({ error: {} }),
});

/** The variables of actions after an action of `restrict-ips`. */
export const restrictIpsBinding = ({ error, ...result }: RestrictIpsResult): Bindings => ({
  actions: new Actions({
    ngrok: new OwnActions({ restrict_ips: new RestrictIps({ ...result, error: new RestrictIpsError(error) }) }),
  }),
});
