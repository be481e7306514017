/** The places of the page, in the order of a day. `path`: where the API has what they list. */
export interface Place {
  readonly place: string;
  readonly title: string;
  readonly path?: string;
}

export const PLACES: readonly Place[] = [
  { place: 'now', title: 'Now' },
  { place: 'refused', title: 'Refused' },
  { place: 'credentials', title: 'Credentials', path: '/ssh_credentials' },
  { place: 'edges', title: 'Edges', path: '/edges/tcp' },
  { place: 'groups', title: 'Tunnel groups', path: '/backends/tunnel_group' },
  { place: 'policies', title: 'IP policies', path: '/ip_policies' },
  { place: 'people', title: 'Users and bots', path: '/users' },
  { place: 'keys', title: 'API keys', path: '/api_keys' },
];

/** Users and bots share a place. */
const BOTS: Place = { place: 'people', title: 'Users and bots', path: '/bot_users' };

export const placeOf = (place: string | undefined, id = ''): Place | undefined =>
  place === 'people' && id.startsWith('bot_') ? BOTS : PLACES.find((one) => one.place === (place ?? 'now'));
