--
-- PostgreSQL database dump
--

\restrict abcdefghijkl

SET client_encoding = 'UTF8';
CREATE FUNCTION public.f() RETURNS void LANGUAGE sql AS $body$ SELECT ';it''s'; $body$;
CREATE TABLE public.domains (
    id integer NOT NULL,
    address character varying(255) NOT NULL
);
COPY public.domains (id, address) FROM stdin;
7	go.ex.test
\.

COPY public.links (id, address, description, banned, domain_id, password, expire_in, target, user_id, visit_count, created_at, updated_at, uuid) FROM stdin;
1	aB3	It's one\nof \\ two;	f	7	$2a$12$abcdefghijklmnopqrstuuAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA	2027-01-01 00:00:00+01	https://ex.test/	1	9	2026-01-01 01:00:00.5+01	2026-01-01 00:00:00+01	6f1c0000-0000-4000-8000-000000000001
2	bad	\N	t	\N	\N	\N	https://ex.test/b	1	0	2026-01-01 01:00:00+01	2026-01-01 00:00:00+01	6f1c0000-0000-4000-8000-000000000002
\.

SELECT pg_catalog.setval('public.links_id_seq', 2, true);
\unrestrict abcdefghijkl
