-- The lists that reports keep of hidden objects (032) are forgotten when the object is no longer hidden.
CREATE TRIGGER forget_hidden AFTER INSERT ON _changes FOR EACH ROW
    WHEN (new.before_readers = '{}' AND (new.kind = 'd' OR new.readers IS DISTINCT FROM '{}' OR new.writers IS DISTINCT FROM '{}'))
    EXECUTE FUNCTION storage.forget_hidden();

-- Those of objects that have stopped being hidden before.
DO $script$
DECLARE
    reported text;
BEGIN
    FOR reported IN SELECT DISTINCT collection FROM _reports WHERE hidden IS NOT NULL LOOP
        IF to_regclass(quote_ident(reported)) IS NULL THEN
            UPDATE _reports SET hidden = NULL WHERE collection = reported AND hidden IS NOT NULL;
        ELSE
            EXECUTE format(
                'UPDATE _reports SET hidden = NULL WHERE collection = $1 AND hidden IS NOT NULL '
                'AND NOT EXISTS (SELECT FROM %I AS o WHERE o.id = object AND o.readers = ''{}'' AND o.writers = ''{}'')', reported)
                USING reported;
        END IF;
    END LOOP;
END
$script$;
