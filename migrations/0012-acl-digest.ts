import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the SHA-256 of an ACL, by which instances cache its compiled form. PostgreSQL computes it, so it is right
 * whoever edits the row. It is stored, since to hash a thousand rules takes longer than to decide by them.
 */
export class AclDigest1763683200012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // A cast of text[] to text is declared stable for the sake of other element types; of texts it is immutable.
    // PostgreSQL therefore cannot inline a function in SQL, and would take twice as long as in plpgsql.
    await runner.query(`
      create function acl_digest(acl text[]) returns bytea language plpgsql immutable parallel safe as $$
      begin
        return sha256(convert_to(acl::text, 'UTF8'));
      end $$`);
    await runner.query(
      'alter table ssh_credentials add column acl_digest bytea generated always as (acl_digest(acl)) stored',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table ssh_credentials drop column acl_digest');
    await runner.query('drop function acl_digest(text[])');
  }
}
