/**
 * The email address of each account's first admin, unless the operator names another one. Nobody can have this address.
 */
export const DEFAULT_ADMIN_EMAIL = 'admin@localhost';
