/** COPY takes no parameters, so its query has the values themselves. */
export const sqlLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`;
