import type { ProblemName } from '../../kernel/problem.js';
import { type PartRoutes, partControllerOf } from '../resources/routes/part-routes.js';
import { type ModuleName, parseBackend, parseIpRestriction, parseTrafficPolicy } from './edge-modules.js';
import type { TcpEdge } from './tcp-edge.js';
import { moduleInput, PutBackendBody, PutIpRestrictionBody, PutTrafficPolicyBody } from './tcp-edges.bodies.js';
import {
  BackendResource,
  ChangeEdgeModule,
  IpRestrictionResource,
  TCP_EDGES,
  TrafficPolicyResource,
  toModules,
} from './tcp-edges.resource.js';

/** A module of an edge under its own path. Each change is an update of the edge. Only DELETE removes a module. */
const moduleController = <Body extends object>(
  path: ModuleName,
  one: string,
  problems: readonly ProblemName[],
  routes: Pick<PartRoutes<TcpEdge, Body>, 'name' | 'answer' | 'body'>,
  read: (body: Body, edgeId: string) => TcpEdge[ModuleName],
) =>
  partControllerOf(TCP_EDGES, {
    ...routes,
    tag: 'Modules of TCP edges',
    path,
    summaries: [`Set the ${one} of a TCP edge`, `Get the ${one} of a TCP edge`, `Remove the ${one} of a TCP edge`],
    description: 'The body is the module, or `{"id": ..., "module": ...}` with the id of the edge and the module.',
    problems: { put: ['edge_not_found', ...problems], remove: ['edge_not_found'] },
    shown: (edge, baseUrl) => toModules(edge, baseUrl)[path],
    absent: `The edge has no ${path}.`,
    set: (context, id, body) => new ChangeEdgeModule(context, id, { [path]: read(body, id) }),
    remove: (context, id) => new ChangeEdgeModule(context, id, { [path]: null }),
  });

export const EDGE_MODULE_CONTROLLERS = [
  moduleController(
    'backend',
    'backend',
    ['backend_id_invalid'],
    { name: 'TcpEdgeBackend', answer: BackendResource, body: PutBackendBody },
    (body, id) => moduleInput(body, id, parseBackend),
  ),
  moduleController(
    'ip_restriction',
    'IP restriction',
    ['ip_policy_id_invalid'],
    { name: 'TcpEdgeIpRestriction', answer: IpRestrictionResource, body: PutIpRestrictionBody },
    (body, id) => moduleInput(body, id, parseIpRestriction),
  ),
  moduleController(
    'traffic_policy',
    'traffic policy',
    [],
    { name: 'TcpEdgeTrafficPolicy', answer: TrafficPolicyResource, body: PutTrafficPolicyBody },
    (body, id) => moduleInput(body, id, parseTrafficPolicy),
  ),
];
