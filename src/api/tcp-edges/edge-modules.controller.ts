import type { Type } from '@nestjs/common';
import type { ProblemName } from '../../kernel/problem.js';
import { partController } from '../resources/part-controller.js';
import { type ModuleName, parseBackend, parseIpRestriction, parseTrafficPolicy } from './edge-modules.js';
import type { TcpEdge } from './tcp-edge.js';
import { moduleInput, PutBackendBody, PutIpRestrictionBody, PutTrafficPolicyBody } from './tcp-edges.bodies.js';
import { ChangeEdgeModule } from './tcp-edges.handlers.js';
import {
  BackendResource,
  IpRestrictionResource,
  TCP_EDGES,
  TrafficPolicyResource,
  toModules,
} from './tcp-edges.resource.js';

interface EdgeModule<Name extends ModuleName, Sent extends object> {
  readonly path: Name;
  readonly name: string;
  readonly noun: string;
  readonly body: Type<Sent & { readonly id?: string; readonly module?: Sent }>;
  readonly resource: Type<object>;
  readonly parse: (sent: Sent, path: string) => TcpEdge[Name];
  readonly problems: readonly ProblemName[];
}

/** A module of an edge under its own path. Each change is an update of the edge. Only DELETE removes a module. */
const moduleController = <Name extends ModuleName, Sent extends object>(module: EdgeModule<Name, Sent>) =>
  partController({
    of: TCP_EDGES,
    tag: 'Modules of TCP edges',
    path: module.path,
    name: `TcpEdge${module.name}`,
    what: `the ${module.noun} of a TCP edge`,
    put: {
      description: 'The body is the module, or `{"id": ..., "module": ...}` with the id of the edge and the module.',
      problems: ['edge_not_found', ...module.problems],
    },
    get: { problems: ['edge_not_found', 'not_found'] },
    delete: { summary: `Remove the ${module.noun} of a TCP edge`, problems: ['edge_not_found'] },
    body: module.body,
    resource: module.resource,
    show: (edge, baseUrl) => toModules(edge, baseUrl)[module.path],
    absent: `The edge has no ${module.path}.`,
    change: (context, id, body) =>
      new ChangeEdgeModule(context, id, { [module.path]: body ? moduleInput(body, id, module.parse) : null }),
  });

export const EDGE_MODULE_CONTROLLERS = [
  moduleController({
    path: 'backend',
    name: 'Backend',
    noun: 'backend',
    body: PutBackendBody,
    resource: BackendResource,
    parse: parseBackend,
    problems: ['backend_id_invalid'],
  }),
  moduleController({
    path: 'ip_restriction',
    name: 'IpRestriction',
    noun: 'IP restriction',
    body: PutIpRestrictionBody,
    resource: IpRestrictionResource,
    parse: parseIpRestriction,
    problems: ['ip_policy_id_invalid'],
  }),
  moduleController({
    path: 'traffic_policy',
    name: 'TrafficPolicy',
    noun: 'traffic policy',
    body: PutTrafficPolicyBody,
    resource: TrafficPolicyResource,
    parse: parseTrafficPolicy,
    problems: [],
  }),
];
