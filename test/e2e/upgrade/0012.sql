-- What pg_dump wrote of the database of the service at commit dd5c98b (migrations to 0012), without its psql commands.
--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: acl_digest(text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.acl_digest(acl text[]) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
      begin
        return sha256(convert_to(acl::text, 'UTF8'));
      end $$;


--
-- Name: add_pending_removal(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.add_pending_removal() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
      begin
        insert into pending_removals (account_id, owner_id) values (new.account_id, new.id) on conflict do nothing;
        return null;
      end $$;


--
-- Name: by_index(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.by_index(text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE COST 4000 PARALLEL SAFE
    AS $$
      begin
        return true;
      end $$;


--
-- Name: event_actor(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.event_actor(metadata text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
      begin
        return metadata::json ->> 'actor';
      end $$;


--
-- Name: event_leaf_hash(text, bigint, text, integer, uuid, text, text, text, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.event_leaf_hash(account_id text, event_position bigint, stream_id text, stream_version integer, event_id uuid, type text, data text, metadata text, occurred_at timestamp with time zone, recorded_at timestamp with time zone) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
        select sha256('\x00'::bytea || convert_to(concat(
          octet_length(account_id), ':', account_id, ',',
          event_position, ',',
          octet_length(stream_id), ':', stream_id, ',',
          stream_version, ',',
          event_id, ',',
          octet_length(type), ':', type, ',',
          octet_length(data), ':', data, ',',
          octet_length(metadata), ':', metadata, ',',
          (extract(epoch from occurred_at) * 1000000)::bigint, ',',
          (extract(epoch from recorded_at) * 1000000)::bigint, ','), 'UTF8'))
      $$;


--
-- Name: refuse_change_of_decisions(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.refuse_change_of_decisions() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
      begin
        raise exception 'bind_decisions are append-only: % refused', tg_op using errcode = 'restrict_violation';
      end $$;


--
-- Name: refuse_change_of_history(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.refuse_change_of_history() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
      begin
        raise exception 'events are append-only: % refused', tg_op using errcode = 'restrict_violation';
      end $$;


--
-- Name: refuse_deleted_owners(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.refuse_deleted_owners() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
      begin
        if exists (
          select from added a join principals p on p.account_id = a.account_id and p.id = a.owner_id
          where p.deleted and by_index(p.id)
        ) then
          raise exception 'the owner is deleted'
            using errcode = 'foreign_key_violation', constraint = 'owner_deleted', table = tg_table_name;
        end if;
        return null;
      end $$;


--
-- Name: require_primary(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.require_primary() RETURNS boolean
    LANGUAGE plpgsql STABLE COST 1 PARALLEL SAFE
    AS $$
      begin
        if pg_is_in_recovery() then
          raise read_only_sql_transaction using message = 'the server is a standby, not the primary';
        end if;
        return true;
      end $$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: accounts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.accounts (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    name text NOT NULL,
    admins text[] NOT NULL
);


--
-- Name: api_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.api_keys (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    owner_id text NOT NULL COLLATE pg_catalog."C",
    description text NOT NULL,
    metadata text NOT NULL,
    token_hash text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: bind_decisions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.bind_decisions (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    decided_at timestamp with time zone NOT NULL,
    credential_id text NOT NULL COLLATE pg_catalog."C",
    credential_version integer,
    owner_id text NOT NULL COLLATE pg_catalog."C",
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    target jsonb NOT NULL,
    allowed boolean NOT NULL,
    reason text NOT NULL,
    rule text,
    gateway text NOT NULL,
    source text
);


--
-- Name: credential_usage; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.credential_usage (
    account_id text NOT NULL COLLATE pg_catalog."C",
    credential_id text NOT NULL COLLATE pg_catalog."C",
    last_used_at timestamp with time zone NOT NULL
)
WITH (fillfactor='50');


--
-- Name: events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.events (
    account_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    stream_id text NOT NULL COLLATE pg_catalog."C",
    stream_version integer NOT NULL,
    event_id uuid NOT NULL,
    type text NOT NULL,
    data text NOT NULL,
    metadata text NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    leaf_hash bytea NOT NULL
);


--
-- Name: log_heads; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.log_heads (
    account_id text NOT NULL COLLATE pg_catalog."C",
    size bigint NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    rights_position bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='10');


--
-- Name: migration_lock; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.migration_lock (
    id integer NOT NULL
);


--
-- Name: migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.migrations (
    id integer NOT NULL,
    "timestamp" bigint NOT NULL,
    name character varying NOT NULL
);


--
-- Name: migrations_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.migrations_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: migrations_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.migrations_id_seq OWNED BY public.migrations.id;


--
-- Name: pending_removals; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pending_removals (
    account_id text NOT NULL COLLATE pg_catalog."C",
    owner_id text NOT NULL COLLATE pg_catalog."C",
    due_at timestamp with time zone DEFAULT (clock_timestamp() + '00:00:05'::interval) NOT NULL
);


--
-- Name: principals; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.principals (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    active boolean NOT NULL,
    deleted boolean NOT NULL
);


--
-- Name: ssh_credentials; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.ssh_credentials (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    description text NOT NULL,
    metadata text NOT NULL,
    public_key text NOT NULL,
    acl text[] NOT NULL,
    owner_id text NOT NULL COLLATE pg_catalog."C",
    key_type text NOT NULL,
    key_bits integer NOT NULL,
    key_blob text NOT NULL,
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    exclusive boolean NOT NULL,
    acl_digest bytea GENERATED ALWAYS AS (public.acl_digest(acl)) STORED
)
WITH (fillfactor='80');


--
-- Name: tcp_edge_hostports; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tcp_edge_hostports (
    account_id text NOT NULL COLLATE pg_catalog."C",
    edge_id text NOT NULL COLLATE pg_catalog."C",
    hostport text NOT NULL COLLATE pg_catalog."C",
    exclusive boolean NOT NULL
);


--
-- Name: tcp_edges; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tcp_edges (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    description text NOT NULL,
    metadata text NOT NULL,
    hostports jsonb NOT NULL,
    backend jsonb,
    ip_restriction jsonb,
    traffic_policy jsonb
)
WITH (fillfactor='80');


--
-- Name: migrations id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.migrations ALTER COLUMN id SET DEFAULT nextval('public.migrations_id_seq'::regclass);


--
-- Data for Name: accounts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.accounts VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'ac_3MScnYabumxx88mAos9r5TrEYj3', 1, '2026-11-22 11:39:36.481+00', 'Default', '{usr_3MScnYabumxx88mAt9uwwIQdFDa}');


--
-- Data for Name: api_keys; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.api_keys VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'ak_3MScnYabumxx88mB7aP0MZQ1Cxh', 1, '2026-11-22 11:39:36.481+00', 'usr_3MScnYabumxx88mAt9uwwIQdFDa', 'First admin key', '', '4e1321472eef4fef665c880c86e7e8136ba47757f83d789bec55d7efec695637');
INSERT INTO public.api_keys VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'ak_3MSco5SiFvjeZtnBcYVrbAbwAng', 1, '2026-11-22 11:39:40.705+00', 'usr_3MScnyDylI6VcY6NgdywDIfrIS2', 'of the user', '', 'b93c9ede36c00599289adae363db4c97da627e6c29a1dc0a6ac6441caa5d09e2');


--
-- Data for Name: bind_decisions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.bind_decisions VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'bd_3MScp1iJX4zQeGvIYK5YzZXTW29', '2026-11-22 11:39:48.169+00', 'sshcr_3MScoBhUz5z8DtnlFpjHnMYZ8gs', 2, 'usr_3MScnYabumxx88mAt9uwwIQdFDa', 'SHA256:R2RsxcBJrdGEcJFedCdj2JgkbfUGqT6IorJ6hqwFdPU', '{"domain": "changed.example.com"}', true, 'permitted', 'bind:changed.example.com', '127.0.0.1', NULL);
INSERT INTO public.bind_decisions VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'bd_3MScp2JZsCU41dKSwtoz2gmEsrq', '2026-11-22 11:39:48.248+00', 'sshcr_3MScolxonUMzSb1ss8SSqrwVXK2', 1, 'usr_3MScnYabumxx88mAt9uwwIQdFDa', 'SHA256:x0a8dMcomu9pwt+t8VHla2ZT5xmDu5hUbWffBJYgvmk', '{"domain": "x.example.com"}', false, 'not_permitted', NULL, '127.0.0.1', NULL);
INSERT INTO public.bind_decisions VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'bd_3MScp6mOdnDfhxwTpxGPhaqleeH', '2026-11-22 11:39:48.835+00', 'sshcr_3MScoBhUz5z8DtnlFpjHnMYZ8gs', 2, 'usr_3MScnYabumxx88mAt9uwwIQdFDa', 'SHA256:R2RsxcBJrdGEcJFedCdj2JgkbfUGqT6IorJ6hqwFdPU', '{"domain": "changed.example.com"}', true, 'permitted', 'bind:changed.example.com', '127.0.0.1', NULL);
INSERT INTO public.bind_decisions VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'bd_3MScp75mk16FSXLIwY1J69oxTUw', '2026-11-22 11:39:48.876+00', 'sshcr_3MScoBhUz5z8DtnlFpjHnMYZ8gs', 2, 'usr_3MScnYabumxx88mAt9uwwIQdFDa', 'SHA256:R2RsxcBJrdGEcJFedCdj2JgkbfUGqT6IorJ6hqwFdPU', '{"domain": "x.example.com"}', false, 'not_permitted', NULL, '127.0.0.1', NULL);
INSERT INTO public.bind_decisions VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'bd_3MScp7ZXpGdGFPYUxFzGVUZ2a8z', '2026-11-22 11:39:48.939+00', 'sshcr_3MScojokvAZQwp9DMpcTaS4fEVs', 1, 'bot_3MSco24idGDNy4iAIx54tmk1raK', 'SHA256:AYRR94pCXpwnTYXuw1r3soAxVUQim/nSjpfdn0YzyPM', '{"domain": "any.example"}', true, 'permitted', '*', '127.0.0.1', NULL);
INSERT INTO public.bind_decisions VALUES ('', 'bd_3MScp7vkIiSRqvDO6ITzXAJY4zi', '2026-11-22 11:39:48.986+00', '', NULL, '', 'SHA256:JNi7QrbsSo/rHI1+de69FfAV/x9Z9Tp2zB5z7+QvfRc', '{"domain": "late.example.com"}', false, 'unknown_key', NULL, '127.0.0.1', NULL);
INSERT INTO public.bind_decisions VALUES ('', 'bd_3MScp8dV2GOhR93NFQnEL5HuryA', '2026-11-22 11:39:49.055+00', '', NULL, '', 'SHA256:Ot8FFfmQ+a9pXThbEOyDTsDSAI/J9H0r9zSbRALzKQk', '{"domain": "any.example"}', false, 'unknown_key', NULL, '127.0.0.1', NULL);


--
-- Data for Name: credential_usage; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.credential_usage VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'sshcr_3MScoBhUz5z8DtnlFpjHnMYZ8gs', '2026-11-22 11:39:48.835+00');
INSERT INTO public.credential_usage VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'sshcr_3MScojokvAZQwp9DMpcTaS4fEVs', '2026-11-22 11:39:48.939+00');


--
-- Data for Name: events; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 1, 'ac_3MScnYabumxx88mAos9r5TrEYj3', 1, '01a2030d-f6ac-704e-8429-7801b9fa990c', 'account_created.v1', '{"name":"Default","admins":["usr_3MScnYabumxx88mAt9uwwIQdFDa"]}', '{"actor":"system"}', '2026-11-22 11:39:36.481+00', '2026-11-22 11:39:36.55508+00', '\x1009b3048fdc444a8a3415b10297eb48e704fe5041b50e73d07eb0bb85ee11ae');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 2, 'usr_3MScnYabumxx88mAt9uwwIQdFDa', 1, '01a2030d-f6ae-7584-8a1b-f9d0b9ac3b78', 'user_created.v1', '{"email":"admin@localhost","role":"admin"}', '{"actor":"system"}', '2026-11-22 11:39:36.481+00', '2026-11-22 11:39:36.555081+00', '\x53f1acb871fa4dd6a1c2b1ef1435e89d0e059c903a02c707c4a06a9eae0b5f36');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 3, 'ak_3MScnYabumxx88mB7aP0MZQ1Cxh', 1, '01a2030d-f6ae-7584-8a1b-fe01c33096a2', 'api_key_created.v1', '{"description":"First admin key","metadata":"","owner_id":"usr_3MScnYabumxx88mAt9uwwIQdFDa","token_hash":"4e1321472eef4fef665c880c86e7e8136ba47757f83d789bec55d7efec695637"}', '{"actor":"system"}', '2026-11-22 11:39:36.481+00', '2026-11-22 11:39:36.555082+00', '\xa7e5fb46dd91be7cfa84a0c1867477186a7174c0170d82dea89bfb1b130e2145');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 4, 'usr_3MScnyDylI6VcY6NgdywDIfrIS2', 1, '01a2030e-03a3-74b6-ace3-2e605ee7bd18', 'user_created.v1', '{"email":"user@example.com","role":"member"}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScnxTlm6ymBTj4J2L1ejs2U3j"}', '2026-11-22 11:39:39.778+00', '2026-11-22 11:39:39.81535+00', '\xb36847b9b3d4d23a5cb23218067089a83f5e02283230f9d591ecaca721b6d9c2');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 5, 'bot_3MSco24idGDNy4iAIx54tmk1raK', 1, '01a2030e-0564-7703-b5d3-86cc0df80f42', 'bot_user_created.v1', '{"name":"deployer","active":true}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MSco1dhlU4mvILUgYbs3LXR4s8"}', '2026-11-22 11:39:40.26+00', '2026-11-22 11:39:40.300445+00', '\x6c15f419fccf8733b03a02819aba47589f590938cecb500a4aee315fd6910892');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 6, 'bot_3MSco3OKgUJK7OVAZWiVr8rIGn2', 1, '01a2030e-0611-76e1-8eb2-729c11c032cf', 'bot_user_created.v1', '{"name":"gone","active":true}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MSco2xsngqDHkPzz3QBZydg3EY"}', '2026-11-22 11:39:40.433+00', '2026-11-22 11:39:40.455541+00', '\x56784f460088de0d8b7a615d96ac00518500ef6ce7bfde072eeaf98c1396d0e2');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 7, 'ak_3MSco5SiFvjeZtnBcYVrbAbwAng', 1, '01a2030e-0756-70dd-a1ae-138dcba1c4e4', 'api_key_created.v1', '{"description":"of the user","metadata":"","owner_id":"usr_3MScnyDylI6VcY6NgdywDIfrIS2","token_hash":"b93c9ede36c00599289adae363db4c97da627e6c29a1dc0a6ac6441caa5d09e2"}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MSco4rPsDz7tQlZyQvEUOeyc3U"}', '2026-11-22 11:39:40.705+00', '2026-11-22 11:39:40.780014+00', '\xd387fadec99f0b4615850d9e1dfc2557fee6c70035ddaea6f317792ca610a250');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 8, 'ak_3MSco7P16jdIsrif0zl6rv471J7', 1, '01a2030e-083f-7293-8ec4-2848975d39c7', 'api_key_created.v1', '{"description":"revoked","metadata":"","owner_id":"usr_3MScnyDylI6VcY6NgdywDIfrIS2","token_hash":"f0e55d530d1e2231f1d7c51f9f2644f8d390e20c3585e3f52433c897c97bf9c6"}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MSco6kGjNtha8MlLHcSmovbj2c"}', '2026-11-22 11:39:40.96+00', '2026-11-22 11:39:41.063302+00', '\x9271674321d9398dc60ef440ab21e1587323e57ac7e33c67b422f72cb5b0d291');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 9, 'sshcr_3MScoBhUz5z8DtnlFpjHnMYZ8gs', 1, '01a2030e-0b2f-7245-86d2-56d45e863c75', 'ssh_credential_created.v1', '{"description":"credential 0","metadata":"{\"n\":0}","public_key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBXC2mFAQ/yw9EqWRLmROOW7hU4HpQJFP+FdCKA2qmFo","acl":["bind:*.example.com"],"owner_id":"usr_3MScnYabumxx88mAt9uwwIQdFDa","key_type":"ssh-ed25519","key_bits":256,"key_blob":"AAAAC3NzaC1lZDI1NTE5AAAAIBXC2mFAQ/yw9EqWRLmROOW7hU4HpQJFP+FdCKA2qmFo","fingerprint":"SHA256:R2RsxcBJrdGEcJFedCdj2JgkbfUGqT6IorJ6hqwFdPU","exclusive":false}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScoB8aFpOaxMkCJc04sibVVGv"}', '2026-11-22 11:39:41.501+00', '2026-11-22 11:39:41.7716+00', '\xbe617df0d56e6a5a468196059ddb9748655c451ab7f53a3a29d1cbed536331ad');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 10, 'sshcr_3MScojokvAZQwp9DMpcTaS4fEVs', 1, '01a2030e-1b83-7660-92df-2f3146157466', 'ssh_credential_created.v1', '{"description":"credential 1","metadata":"{\"n\":1}","public_key":"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQDwTUD2nqAqUlWXDYIJ/98rYMTdlcGkjgw0J+L9fJPqMDsUAeeSdDsiDCiXj9iKB7ly+FS4KLP5cvKnhL4KxFQ5gK4kmlwEnBlnZ0/oU2aSkzPNiuTbzCdlh1wFzqh9AgxgmTZ0AGJtXrVAV1/+AGDMCpl/LHoHZoEHUp/+tP1EUyZ80bC6e92/bvJoy3nrkDoNUY5uIL/15ksOgt/gF9QiH4/tOZW/3/1PBiPiNWVIn779VxKSi3ocBGL4AnLBp76b67kmck3Ylo80ogeXB1J5Ex9mRSlORUhb3z3/yY1JALbmvgSklsh7H3yom+xUdXNO/7tTWneDO1o3lmVO3E1uF42fKKZk1ODRzzwYOlnNJf4tpEyy3YWUem8lUPwvg8c5Ugqj5crFWRjKk02I0KOxHbwkZjBpcAXzwgpjZo/3qjE0o2cSXmTRBsXNBix5mZeE/2GpOV6WtuTgUSnmliXMnZ519KF7MeVlUgYGaGHb7RiwR/0lo7SFdFud+/73Nn0=","acl":["*"],"owner_id":"bot_3MSco24idGDNy4iAIx54tmk1raK","key_type":"ssh-rsa","key_bits":3072,"key_blob":"AAAAB3NzaC1yc2EAAAADAQABAAABgQDwTUD2nqAqUlWXDYIJ/98rYMTdlcGkjgw0J+L9fJPqMDsUAeeSdDsiDCiXj9iKB7ly+FS4KLP5cvKnhL4KxFQ5gK4kmlwEnBlnZ0/oU2aSkzPNiuTbzCdlh1wFzqh9AgxgmTZ0AGJtXrVAV1/+AGDMCpl/LHoHZoEHUp/+tP1EUyZ80bC6e92/bvJoy3nrkDoNUY5uIL/15ksOgt/gF9QiH4/tOZW/3/1PBiPiNWVIn779VxKSi3ocBGL4AnLBp76b67kmck3Ylo80ogeXB1J5Ex9mRSlORUhb3z3/yY1JALbmvgSklsh7H3yom+xUdXNO/7tTWneDO1o3lmVO3E1uF42fKKZk1ODRzzwYOlnNJf4tpEyy3YWUem8lUPwvg8c5Ugqj5crFWRjKk02I0KOxHbwkZjBpcAXzwgpjZo/3qjE0o2cSXmTRBsXNBix5mZeE/2GpOV6WtuTgUSnmliXMnZ519KF7MeVlUgYGaGHb7RiwR/0lo7SFdFud+/73Nn0=","fingerprint":"SHA256:AYRR94pCXpwnTYXuw1r3soAxVUQim/nSjpfdn0YzyPM","exclusive":false}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScojjBYeNcMCZOtKH0OIn8pRc"}', '2026-11-22 11:39:45.889+00', '2026-11-22 11:39:45.94369+00', '\xb3d0ebfbf0ad18485296aa5090672edc84926d21a763edf3c4a9bc84ca362830');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 11, 'sshcr_3MScolxonUMzSb1ss8SSqrwVXK2', 1, '01a2030e-1c73-7756-add7-4cc00629ce78', 'ssh_credential_created.v1', '{"description":"credential 2","metadata":"{\"n\":2}","public_key":"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBN6M8NHi0YGy+KxY+z320IW9GSSKZjJSsximYMmiUiXXVY7kTFTgGawVeGj57+Xq5GKMKh9Lr5anXNSu2JkHTmU=","acl":["bind:region=eu"],"owner_id":"usr_3MScnYabumxx88mAt9uwwIQdFDa","key_type":"ecdsa-sha2-nistp256","key_bits":256,"key_blob":"AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBN6M8NHi0YGy+KxY+z320IW9GSSKZjJSsximYMmiUiXXVY7kTFTgGawVeGj57+Xq5GKMKh9Lr5anXNSu2JkHTmU=","fingerprint":"SHA256:x0a8dMcomu9pwt+t8VHla2ZT5xmDu5hUbWffBJYgvmk","exclusive":false}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScola8m3nmxjKZfX0tx6ZmSwB"}', '2026-11-22 11:39:46.147+00', '2026-11-22 11:39:46.181296+00', '\x62b419332b285d75e27d117db9f0b7778836bc28221529573f6c8fb865fe2bb3');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 12, 'sshcr_3MSconYOv4DOQohW6HIo6UgBbZX', 1, '01a2030e-1d5f-77c5-8217-6acdbc345bc3', 'ssh_credential_created.v1', '{"description":"credential 3","metadata":"{\"n\":3}","public_key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8hHcXDQv4PDexNJLvbfqWxVHsHNfiX//iHIsVBih80","acl":[],"owner_id":"bot_3MSco24idGDNy4iAIx54tmk1raK","key_type":"ssh-ed25519","key_bits":256,"key_blob":"AAAAC3NzaC1lZDI1NTE5AAAAIJ8hHcXDQv4PDexNJLvbfqWxVHsHNfiX//iHIsVBih80","fingerprint":"SHA256:cr54wqVLLawl+nM2qyec878Y1MDsmKEZ9z0Go0lXtmw","exclusive":false}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MSconNRQoK2tSSnZVKqmUhAr1P"}', '2026-11-22 11:39:46.356+00', '2026-11-22 11:39:46.411709+00', '\x72de8d4b3b8184e230053f99f31f12e35dd4c575ed7522c9d2262c0abf92e93b');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 18, 'sshcr_3MScouD958yjLNnTRIQYnrjSxsK', 2, '01a2030e-22fc-74dc-b737-7daabb257636', 'ssh_credential_deleted.v1', '{}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScoyWaBxczTBu9jLSsPQTU5ID"}', '2026-11-22 11:39:47.809+00', '2026-11-22 11:39:47.846288+00', '\x07e9bdbf49da0b571f9b1cc988040e8c01e8313a3ef74f043557e1efd5dafe72');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 13, 'sshcr_3MScop5IECQBi51k49FdN7Eudsx', 1, '01a2030e-1e26-7562-be80-66e29e1fc7f5', 'ssh_credential_created.v1', '{"description":"credential 4","metadata":"{\"n\":4}","public_key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEoh7fsd2juOaCucUD3Tnu8Hrmwll8rZYl7zobuqbrZr","acl":["bind:app.example.org","bind:*=x"],"owner_id":"usr_3MScnYabumxx88mAt9uwwIQdFDa","key_type":"ssh-ed25519","key_bits":256,"key_blob":"AAAAC3NzaC1lZDI1NTE5AAAAIEoh7fsd2juOaCucUD3Tnu8Hrmwll8rZYl7zobuqbrZr","fingerprint":"SHA256:jW4BaRt5dlHfBgSx48tJvsFlf7lJFu6QVC5RR37eXDs","exclusive":false}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScoozWYYyW3idamUCd2brVR7K"}', '2026-11-22 11:39:46.557+00', '2026-11-22 11:39:46.604651+00', '\xe1c5967cfcacba6d687bf5c43a0c44a706374a980b925d66d057007f70f5e460');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 14, 'sshcr_3MScoreYScU2M07JCxtq8jVAvUB', 1, '01a2030e-1f7d-7476-baa3-110f4c46cd43', 'ssh_credential_created.v1', '{"description":"credential 5","metadata":"{\"n\":5}","public_key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICC45zIj9RR0QpUFNyOrbfYPhgiGQDbMNvNt3Vb6SVu3","acl":["bind:late.example.com"],"owner_id":"bot_3MSco24idGDNy4iAIx54tmk1raK","key_type":"ssh-ed25519","key_bits":256,"key_blob":"AAAAC3NzaC1lZDI1NTE5AAAAICC45zIj9RR0QpUFNyOrbfYPhgiGQDbMNvNt3Vb6SVu3","fingerprint":"SHA256:JNi7QrbsSo/rHI1+de69FfAV/x9Z9Tp2zB5z7+QvfRc","exclusive":false}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScorNfu3FoOQfEnoarP16sDIP"}', '2026-11-22 11:39:46.895+00', '2026-11-22 11:39:46.945223+00', '\x0fc17dcc3093fce94415a0e4d9cd6323ad33884dcc2d7df889f97f7f22426c05');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 15, 'sshcr_3MScouD958yjLNnTRIQYnrjSxsK', 1, '01a2030e-20df-7753-99e2-412064b262b0', 'ssh_credential_created.v1', '{"description":"","metadata":"","public_key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPEjx1f68TLUtUrjQXR26dL2UvEtuds6N/zCvRO8YlaA","acl":["*"],"owner_id":"bot_3MSco3OKgUJK7OVAZWiVr8rIGn2","key_type":"ssh-ed25519","key_bits":256,"key_blob":"AAAAC3NzaC1lZDI1NTE5AAAAIPEjx1f68TLUtUrjQXR26dL2UvEtuds6N/zCvRO8YlaA","fingerprint":"SHA256:Ot8FFfmQ+a9pXThbEOyDTsDSAI/J9H0r9zSbRALzKQk","exclusive":false}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScoty6V8uNn8ftXVlI0kTLtSa"}', '2026-11-22 11:39:47.207+00', '2026-11-22 11:39:47.30873+00', '\xb04c2d65035ed8f3fc45a28e28692e91433dd9317517b424636a824aba0d602d');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 16, 'sshcr_3MScoBhUz5z8DtnlFpjHnMYZ8gs', 2, '01a2030e-218b-7682-abbf-e04dd5e16d9f', 'ssh_credential_updated.v1', '{"description":"changed","acl":["bind:changed.example.com"]}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScovKrhPN1RaF0VNj6CgCvnb1"}', '2026-11-22 11:39:47.467+00', '2026-11-22 11:39:47.48038+00', '\x82da925f5456feb490c075d45f1183b1cdfa8c71d3d1b4c039571ea4c6469cca');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 17, 'sshcr_3MScoreYScU2M07JCxtq8jVAvUB', 2, '01a2030e-2266-74c4-8d44-ca8033a8739e', 'ssh_credential_deleted.v1', '{}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScoxOtPAnQKlDLiFHCuS7GZp2"}', '2026-11-22 11:39:47.686+00', '2026-11-22 11:39:47.705307+00', '\x14ffa31dc305890af9cc4356de907a47050919c168fe21c0a4de135e6dca2d16');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 20, 'ak_3MSco7P16jdIsrif0zl6rv471J7', 2, '01a2030e-235e-72cb-a3a5-da07c9517ba0', 'api_key_deleted.v1', '{}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScozXRQnPulJF9q8AEbGr9R1z"}', '2026-11-22 11:39:47.934+00', '2026-11-22 11:39:47.948058+00', '\x4f1699cfc4e4535f3a8a803d0bd8917e0be101a9654c8cf3a0ff02640b0ce5a3');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 21, 'edgtcp_3MScp0UreKumO62SFCpr00N0xEN', 1, '01a2030e-23aa-751a-83ab-ac13b4d07778', 'tcp_edge_created.v1', '{"description":"an edge","metadata":"","hostports":[{"text":"1.tcp.example.com:12345","canonical":"1.tcp.example.com:12345","exclusive":false}],"backend":null,"ip_restriction":null,"traffic_policy":null}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScp093jVXtVWXOKJTSl47CpEP"}', '2026-11-22 11:39:48.009+00', '2026-11-22 11:39:48.020344+00', '\x96ede05e9eec7d30753c77241b9a7512b8df122efc1ea70a5a0c5247c7f2b50d');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 19, 'bot_3MSco3OKgUJK7OVAZWiVr8rIGn2', 2, '01a2030e-22fc-74dc-b737-7b46a91bb547', 'bot_user_deleted.v1', '{}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScoyWaBxczTBu9jLSsPQTU5ID"}', '2026-11-22 11:39:47.809+00', '2026-11-22 11:39:47.846289+00', '\x711d8ff2ad2beffc9f80f8504de68fcc77e5dd1da4820650321f752b0388eabb');
INSERT INTO public.events VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 22, 'edgtcp_3MScp0UreKumO62SFCpr00N0xEN', 2, '01a2030e-23fe-7244-b993-fd594dc19b01', 'tcp_edge_updated.v1', '{"ip_restriction":{"enabled":true,"ip_policy_ids":["ipp_2Ff6kJ1pPjXlaFyQxyEtpjyFXqt"]}}', '{"actor":"usr_3MScnYabumxx88mAt9uwwIQdFDa","api_key_id":"ak_3MScnYabumxx88mB7aP0MZQ1Cxh","ip":"127.0.0.1","user_agent":"node","operation_id":"op_3MScp0oVdwncRSzATFXWVBePoou"}', '2026-11-22 11:39:48.094+00', '2026-11-22 11:39:48.098665+00', '\xb761ad61c6f115c2c93b55716c1d3168f5aeab2fbc0de9d23e95c62904e3ea92');


--
-- Data for Name: log_heads; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.log_heads VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 22, '2026-11-22 11:39:48.098665+00', 20);


--
-- Data for Name: migration_lock; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.migration_lock VALUES (1);


--
-- Data for Name: migrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.migrations VALUES (1, 1763683200001, 'EventLog1763683200001');
INSERT INTO public.migrations VALUES (2, 1763683200002, 'Access1763683200002');
INSERT INTO public.migrations VALUES (3, 1763683200003, 'SshCredentials1763683200003');
INSERT INTO public.migrations VALUES (4, 1763683200004, 'TcpEdges1763683200004');
INSERT INTO public.migrations VALUES (5, 1763683200005, 'OwnedThings1763683200005');
INSERT INTO public.migrations VALUES (6, 1763683200006, 'BindDecisions1763683200006');
INSERT INTO public.migrations VALUES (7, 1763683200007, 'Rights1763683200007');
INSERT INTO public.migrations VALUES (8, 1763683200008, 'EventFilters1763683200008');
INSERT INTO public.migrations VALUES (9, 1763683200009, 'PendingRemovals1763683200009');
INSERT INTO public.migrations VALUES (10, 1763683200010, 'ByIndex1763683200010');
INSERT INTO public.migrations VALUES (11, 1763683200011, 'RequirePrimary1763683200011');
INSERT INTO public.migrations VALUES (12, 1763683200012, 'AclDigest1763683200012');


--
-- Data for Name: pending_removals; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: principals; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.principals VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'usr_3MScnYabumxx88mAt9uwwIQdFDa', 1, '2026-11-22 11:39:36.481+00', 'user', '', 'admin@localhost', 'admin', true, false);
INSERT INTO public.principals VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'usr_3MScnyDylI6VcY6NgdywDIfrIS2', 1, '2026-11-22 11:39:39.778+00', 'user', '', 'user@example.com', 'member', true, false);
INSERT INTO public.principals VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'bot_3MSco24idGDNy4iAIx54tmk1raK', 1, '2026-11-22 11:39:40.26+00', 'bot', 'deployer', '', 'member', true, false);
INSERT INTO public.principals VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'bot_3MSco3OKgUJK7OVAZWiVr8rIGn2', 2, '2026-11-22 11:39:40.433+00', 'bot', '', '', 'member', false, true);


--
-- Data for Name: ssh_credentials; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.ssh_credentials VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'sshcr_3MScojokvAZQwp9DMpcTaS4fEVs', 1, '2026-11-22 11:39:45.889+00', 'credential 1', '{"n":1}', 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQDwTUD2nqAqUlWXDYIJ/98rYMTdlcGkjgw0J+L9fJPqMDsUAeeSdDsiDCiXj9iKB7ly+FS4KLP5cvKnhL4KxFQ5gK4kmlwEnBlnZ0/oU2aSkzPNiuTbzCdlh1wFzqh9AgxgmTZ0AGJtXrVAV1/+AGDMCpl/LHoHZoEHUp/+tP1EUyZ80bC6e92/bvJoy3nrkDoNUY5uIL/15ksOgt/gF9QiH4/tOZW/3/1PBiPiNWVIn779VxKSi3ocBGL4AnLBp76b67kmck3Ylo80ogeXB1J5Ex9mRSlORUhb3z3/yY1JALbmvgSklsh7H3yom+xUdXNO/7tTWneDO1o3lmVO3E1uF42fKKZk1ODRzzwYOlnNJf4tpEyy3YWUem8lUPwvg8c5Ugqj5crFWRjKk02I0KOxHbwkZjBpcAXzwgpjZo/3qjE0o2cSXmTRBsXNBix5mZeE/2GpOV6WtuTgUSnmliXMnZ519KF7MeVlUgYGaGHb7RiwR/0lo7SFdFud+/73Nn0=', '{*}', 'bot_3MSco24idGDNy4iAIx54tmk1raK', 'ssh-rsa', 3072, 'AAAAB3NzaC1yc2EAAAADAQABAAABgQDwTUD2nqAqUlWXDYIJ/98rYMTdlcGkjgw0J+L9fJPqMDsUAeeSdDsiDCiXj9iKB7ly+FS4KLP5cvKnhL4KxFQ5gK4kmlwEnBlnZ0/oU2aSkzPNiuTbzCdlh1wFzqh9AgxgmTZ0AGJtXrVAV1/+AGDMCpl/LHoHZoEHUp/+tP1EUyZ80bC6e92/bvJoy3nrkDoNUY5uIL/15ksOgt/gF9QiH4/tOZW/3/1PBiPiNWVIn779VxKSi3ocBGL4AnLBp76b67kmck3Ylo80ogeXB1J5Ex9mRSlORUhb3z3/yY1JALbmvgSklsh7H3yom+xUdXNO/7tTWneDO1o3lmVO3E1uF42fKKZk1ODRzzwYOlnNJf4tpEyy3YWUem8lUPwvg8c5Ugqj5crFWRjKk02I0KOxHbwkZjBpcAXzwgpjZo/3qjE0o2cSXmTRBsXNBix5mZeE/2GpOV6WtuTgUSnmliXMnZ519KF7MeVlUgYGaGHb7RiwR/0lo7SFdFud+/73Nn0=', 'SHA256:AYRR94pCXpwnTYXuw1r3soAxVUQim/nSjpfdn0YzyPM', false, DEFAULT);
INSERT INTO public.ssh_credentials VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'sshcr_3MScolxonUMzSb1ss8SSqrwVXK2', 1, '2026-11-22 11:39:46.147+00', 'credential 2', '{"n":2}', 'ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBN6M8NHi0YGy+KxY+z320IW9GSSKZjJSsximYMmiUiXXVY7kTFTgGawVeGj57+Xq5GKMKh9Lr5anXNSu2JkHTmU=', '{bind:region=eu}', 'usr_3MScnYabumxx88mAt9uwwIQdFDa', 'ecdsa-sha2-nistp256', 256, 'AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBN6M8NHi0YGy+KxY+z320IW9GSSKZjJSsximYMmiUiXXVY7kTFTgGawVeGj57+Xq5GKMKh9Lr5anXNSu2JkHTmU=', 'SHA256:x0a8dMcomu9pwt+t8VHla2ZT5xmDu5hUbWffBJYgvmk', false, DEFAULT);
INSERT INTO public.ssh_credentials VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'sshcr_3MSconYOv4DOQohW6HIo6UgBbZX', 1, '2026-11-22 11:39:46.356+00', 'credential 3', '{"n":3}', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8hHcXDQv4PDexNJLvbfqWxVHsHNfiX//iHIsVBih80', '{}', 'bot_3MSco24idGDNy4iAIx54tmk1raK', 'ssh-ed25519', 256, 'AAAAC3NzaC1lZDI1NTE5AAAAIJ8hHcXDQv4PDexNJLvbfqWxVHsHNfiX//iHIsVBih80', 'SHA256:cr54wqVLLawl+nM2qyec878Y1MDsmKEZ9z0Go0lXtmw', false, DEFAULT);
INSERT INTO public.ssh_credentials VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'sshcr_3MScop5IECQBi51k49FdN7Eudsx', 1, '2026-11-22 11:39:46.557+00', 'credential 4', '{"n":4}', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEoh7fsd2juOaCucUD3Tnu8Hrmwll8rZYl7zobuqbrZr', '{bind:app.example.org,bind:*=x}', 'usr_3MScnYabumxx88mAt9uwwIQdFDa', 'ssh-ed25519', 256, 'AAAAC3NzaC1lZDI1NTE5AAAAIEoh7fsd2juOaCucUD3Tnu8Hrmwll8rZYl7zobuqbrZr', 'SHA256:jW4BaRt5dlHfBgSx48tJvsFlf7lJFu6QVC5RR37eXDs', false, DEFAULT);
INSERT INTO public.ssh_credentials VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'sshcr_3MScoBhUz5z8DtnlFpjHnMYZ8gs', 2, '2026-11-22 11:39:41.501+00', 'changed', '{"n":0}', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBXC2mFAQ/yw9EqWRLmROOW7hU4HpQJFP+FdCKA2qmFo', '{bind:changed.example.com}', 'usr_3MScnYabumxx88mAt9uwwIQdFDa', 'ssh-ed25519', 256, 'AAAAC3NzaC1lZDI1NTE5AAAAIBXC2mFAQ/yw9EqWRLmROOW7hU4HpQJFP+FdCKA2qmFo', 'SHA256:R2RsxcBJrdGEcJFedCdj2JgkbfUGqT6IorJ6hqwFdPU', false, DEFAULT);


--
-- Data for Name: tcp_edge_hostports; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tcp_edge_hostports VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'edgtcp_3MScp0UreKumO62SFCpr00N0xEN', '1.tcp.example.com:12345', false);


--
-- Data for Name: tcp_edges; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tcp_edges VALUES ('ac_3MScnYabumxx88mAos9r5TrEYj3', 'edgtcp_3MScp0UreKumO62SFCpr00N0xEN', 2, '2026-11-22 11:39:48.009+00', 'an edge', '', '[{"text": "1.tcp.example.com:12345", "canonical": "1.tcp.example.com:12345", "exclusive": false}]', NULL, '{"enabled": true, "ip_policy_ids": ["ipp_2Ff6kJ1pPjXlaFyQxyEtpjyFXqt"]}', NULL);


--
-- Name: migrations_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.migrations_id_seq', 12, true);


--
-- Name: migrations PK_8c82d7f526340ab734260ea46be; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.migrations
    ADD CONSTRAINT "PK_8c82d7f526340ab734260ea46be" PRIMARY KEY (id);


--
-- Name: accounts accounts_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pk PRIMARY KEY (account_id, id);


--
-- Name: api_keys api_keys_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pk PRIMARY KEY (account_id, id);


--
-- Name: api_keys api_keys_token_hash; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_token_hash UNIQUE (token_hash);


--
-- Name: bind_decisions bind_decisions_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.bind_decisions
    ADD CONSTRAINT bind_decisions_pk PRIMARY KEY (account_id, id);


--
-- Name: credential_usage credential_usage_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.credential_usage
    ADD CONSTRAINT credential_usage_pk PRIMARY KEY (account_id, credential_id);


--
-- Name: events events_event_id; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_event_id UNIQUE (account_id, event_id);


--
-- Name: events events_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pk PRIMARY KEY (account_id, "position");


--
-- Name: events events_stream_version; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_stream_version UNIQUE (account_id, stream_id, stream_version);


--
-- Name: log_heads log_heads_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.log_heads
    ADD CONSTRAINT log_heads_pkey PRIMARY KEY (account_id);


--
-- Name: migration_lock migration_lock_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.migration_lock
    ADD CONSTRAINT migration_lock_pkey PRIMARY KEY (id);


--
-- Name: pending_removals pending_removals_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pending_removals
    ADD CONSTRAINT pending_removals_pk PRIMARY KEY (account_id, owner_id);


--
-- Name: principals principals_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.principals
    ADD CONSTRAINT principals_pk PRIMARY KEY (account_id, id);


--
-- Name: ssh_credentials ssh_credentials_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ssh_credentials
    ADD CONSTRAINT ssh_credentials_pk PRIMARY KEY (account_id, id);


--
-- Name: tcp_edge_hostports tcp_edge_hostports_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tcp_edge_hostports
    ADD CONSTRAINT tcp_edge_hostports_pk PRIMARY KEY (account_id, edge_id, hostport);


--
-- Name: tcp_edges tcp_edges_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tcp_edges
    ADD CONSTRAINT tcp_edges_pk PRIMARY KEY (account_id, id);


--
-- Name: accounts_age; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX accounts_age ON public.accounts USING btree (created_at, account_id);


--
-- Name: api_keys_owner; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX api_keys_owner ON public.api_keys USING btree (account_id, owner_id, id);


--
-- Name: bind_decisions_age; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX bind_decisions_age ON public.bind_decisions USING btree (id);


--
-- Name: bind_decisions_credential; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX bind_decisions_credential ON public.bind_decisions USING btree (account_id, credential_id, id) WHERE (account_id <> ''::text);


--
-- Name: events_actor; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX events_actor ON public.events USING btree (account_id, public.event_actor(metadata), type, "position");


--
-- Name: events_type; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX events_type ON public.events USING btree (account_id, type, "position");


--
-- Name: pending_removals_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pending_removals_due ON public.pending_removals USING btree (due_at);


--
-- Name: principals_bot_name; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX principals_bot_name ON public.principals USING btree (account_id, name) WHERE ((kind = 'bot'::text) AND (NOT deleted));


--
-- Name: principals_user_email; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX principals_user_email ON public.principals USING btree (account_id, lower(email)) WHERE ((kind = 'user'::text) AND (NOT deleted));


--
-- Name: ssh_credentials_exclusive_key; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX ssh_credentials_exclusive_key ON public.ssh_credentials USING btree (account_id, fingerprint) WHERE exclusive;


--
-- Name: ssh_credentials_fingerprint; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ssh_credentials_fingerprint ON public.ssh_credentials USING btree (fingerprint, id);


--
-- Name: ssh_credentials_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ssh_credentials_id ON public.ssh_credentials USING btree (id);


--
-- Name: ssh_credentials_owner; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ssh_credentials_owner ON public.ssh_credentials USING btree (account_id, owner_id);


--
-- Name: tcp_edge_hostports_by_hostport; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX tcp_edge_hostports_by_hostport ON public.tcp_edge_hostports USING btree (hostport, edge_id);


--
-- Name: tcp_edge_hostports_exclusive; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX tcp_edge_hostports_exclusive ON public.tcp_edge_hostports USING btree (hostport) WHERE exclusive;


--
-- Name: api_keys api_keys_owner; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER api_keys_owner AFTER INSERT ON public.api_keys REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_deleted_owners();


--
-- Name: bind_decisions bind_decisions_guard; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER bind_decisions_guard BEFORE UPDATE OR TRUNCATE ON public.bind_decisions FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change_of_decisions();


--
-- Name: events events_guard; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER events_guard BEFORE DELETE OR UPDATE OR TRUNCATE ON public.events FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change_of_history();


--
-- Name: principals principals_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER principals_deleted AFTER INSERT OR UPDATE ON public.principals FOR EACH ROW WHEN (new.deleted) EXECUTE FUNCTION public.add_pending_removal();


--
-- Name: ssh_credentials ssh_credentials_owner; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER ssh_credentials_owner AFTER INSERT ON public.ssh_credentials REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_deleted_owners();


--
-- PostgreSQL database dump complete
--


