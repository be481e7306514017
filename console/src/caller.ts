import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { CallerResource } from '../../src/api/caller/caller.resource.js';
import { asOf } from './route.js';

/** Who signed in. */
export const Caller = createContext<CallerResource | undefined>(undefined);

/** What a role may not do is not offered. As of a moment nobody changes anything. */
export function useRights() {
  const caller = useContext(Caller);
  const role = asOf() === undefined ? caller?.role : undefined;
  return {
    caller,
    isAdmin: role === 'admin',
    mayChange: role === 'admin' || role === 'member',
    /** Bind decisions and the records of tunnels. */
    mayReadRecords: caller?.role === 'admin' || caller?.role === 'auditor',
  };
}
