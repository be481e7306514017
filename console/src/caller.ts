import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { CallerResource } from '../../src/api/caller/caller.resource.js';

/** Who signed in. */
export const Caller = createContext<CallerResource | undefined>(undefined);

/** What a role may not do is not offered. */
export function useRights() {
  const caller = useContext(Caller);
  const role = caller?.role;
  return {
    caller,
    isAdmin: role === 'admin',
    mayChange: role === 'admin' || role === 'member',
    /** Bind decisions and the records of tunnels. */
    mayReadRecords: role === 'admin' || role === 'auditor',
  };
}
