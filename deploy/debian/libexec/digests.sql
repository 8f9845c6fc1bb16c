-- Rows and a checksum of each table, as of one moment: table<TAB>rows<TAB>checksum. The checksum does not depend on the order
-- of rows. With `quiet_only` set it prints nothing unless no transaction was writing at that moment; then `lsn` is the first
-- line: a cluster recovered up to just before that position must give the same.
\set ON_ERROR_STOP 1
\pset tuples_only on
\pset format unaligned
\pset fieldsep '\t'
SET search_path = pg_catalog;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET intervalstyle = 'postgres';
SET bytea_output = 'hex';
SET extra_float_digits = 1;
SELECT pg_current_wal_insert_lsn() AS before \gset
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
-- The snapshot is taken before the functions run. No commit fell in between if the position is the same, and none was under
-- way if the snapshot lists no transaction.
SELECT pg_current_snapshot()::text AS snapshot, pg_current_wal_insert_lsn() AS after \gset
SELECT :'before' = :'after' AND :'snapshot' LIKE '%:' AS quiet \gset
\if :quiet_only
    \if :quiet
        \echo lsn :after
    \else
        \q
    \endif
\endif
SELECT format(
    'SELECT %L, count(*), coalesce(sum(hashtextextended((t.*)::text, 0)), 0) FROM ONLY %I.%I AS t',
    n.nspname || '.' || c.relname, n.nspname, c.relname)
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
ORDER BY n.nspname, c.relname \gexec
COMMIT;
