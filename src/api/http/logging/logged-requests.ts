export const LOGGED_REQUESTS = ['changes', 'all'] as const;
export type LoggedRequests = (typeof LOGGED_REQUESTS)[number];
