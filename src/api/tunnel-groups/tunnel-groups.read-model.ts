import { entityTable, type ReadModel } from '../../event-log/index.js';
import { type TunnelGroup, type TunnelGroupEvent, tunnelGroup } from './tunnel-group.js';

export const tunnelGroupsReadModel: ReadModel<TunnelGroup, TunnelGroupEvent> = {
  streamPrefixes: ['bkdtg'],
  events: {
    'tunnel_group_created.v1': { isStart: true },
    'tunnel_group_updated.v1': {},
    'tunnel_group_deleted.v1': { isEnd: true },
  },
  evolve: tunnelGroup.evolve,
  tables: [entityTable<TunnelGroup>('tunnel_groups', ['description', 'metadata', 'labels'])],
};
