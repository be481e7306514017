/** The door of the gateway: what code outside may use of it. Each name has its sentence where it is defined. */

export type { ServiceEvent } from './event-stream.js';
export { Gateway } from './gateway.js';
export { type Followed, Follower } from './rights/follower.js';
export { type GatewayRoutes, type Rechecked, ServiceClient } from './service-client.js';
export { GATEWAY, type GatewaySettings, OUTAGE_GRACE } from './settings-table.js';
