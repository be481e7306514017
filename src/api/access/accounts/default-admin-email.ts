/** Of the first admin of every account, unless the operator names another. It is no address that anyone can have. */
export const DEFAULT_ADMIN_EMAIL = 'admin@localhost';
