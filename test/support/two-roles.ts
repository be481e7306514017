import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { stopAtEnd } from './leftovers.js';
import { CHECKPOINTS } from './route-samples.js';
import { GATEWAY, type Service, startCopy } from './service.js';

/** A database with one role that owns it and one for the service, as docs/database.md describes them. */
export interface TwoRoles {
  readonly ownerUrl: string;
  readonly serviceUrl: string;
  readonly service: string;
  readonly owner: string;
  /** Runs statements as the superuser, in this database. */
  query(statement: string): Promise<Record<string, unknown>[]>;
}

/** `superuser`: a URL of a database of the server. The server trusts every role. */
export async function makeTwoRoles(superuser: string): Promise<TwoRoles> {
  const tag = randomBytes(6).toString('hex');
  const [database, owner, service] = [`roles_${tag}`, `owner_${tag}`, `service_${tag}`];
  const urlOf = (role: string, name = database): string => {
    const url = superuser.replace(/\/\/[^@/]*@/, `//${role}@`);
    return url.replace(/\/[^/]*$/, `/${name}`);
  };
  const asSuperuser = async (url: string, ...statements: string[]) => {
    const client = new pg.Client(url);
    // At the end of a file the server may stop at the same moment, and reject the statement.
    client.on('error', () => undefined);
    await client.connect();
    try {
      let rows: Record<string, unknown>[] = [];
      for (const statement of statements) ({ rows } = await client.query(statement));
      return rows;
    } finally {
      await client.end();
    }
  };
  await asSuperuser(
    superuser,
    `create role ${owner} login`,
    `create role ${service} login`,
    `create database ${database} owner ${owner} encoding 'UTF8' template template0`,
  );
  stopAtEnd(async () => {
    await asSuperuser(superuser, `drop database ${database} with (force)`, `drop role ${owner}, ${service}`);
  });
  const inDatabase = superuser.replace(/\/[^/]*$/, `/${database}`);
  await asSuperuser(inDatabase, 'revoke create on schema public from public');
  return {
    ownerUrl: urlOf(owner),
    serviceUrl: urlOf(service),
    owner,
    service,
    query: (statement) => asSuperuser(inDatabase, statement),
  };
}

/** An instance that also answers gateways, with these two URLs in its settings. */
export async function startAs(databaseUrl: string, migrationDatabaseUrl?: string): Promise<Service> {
  return startCopy({ databaseUrl }, { ...GATEWAY, ...CHECKPOINTS, migrationDatabaseUrl });
}
