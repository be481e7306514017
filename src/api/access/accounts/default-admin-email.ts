/** Of the admin of an account that is made without an address. */
export const DEFAULT_ADMIN_EMAIL = 'admin@localhost';
