/** The sections of the bench, in the order in which they run and are documented. */
export const SECTIONS = {
  start: 'start.mjs',
  http: 'http.mjs',
  fresh: 'fresh.mjs',
  peers: 'peers.mjs',
  growth: 'growth.mjs',
  acl: 'acl.mjs',
  'ip-rules': 'ip-rules.mjs',
  gateway: 'gateway.mjs',
  keys: 'public-key-attacks.mjs',
  replay: 'replay.mjs',
  feed: 'feed.mjs',
  fairness: 'fairness.mjs',
  tunnels: 'tunnels.mjs',
  hostile: 'hostile.mjs',
};

/** The sections of `--quick`. They have short rounds, or need none. */
export const QUICK_SECTIONS = ['start', 'http', 'acl'];
