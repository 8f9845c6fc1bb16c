-- The lists that reports keep of hidden objects (032) are forgotten when the object is no longer hidden.
CREATE TRIGGER forget_hidden AFTER INSERT ON _changes FOR EACH ROW
    WHEN (new.before_readers = '{}' AND (new.kind = 'd' OR new.readers IS DISTINCT FROM '{}' OR new.writers IS DISTINCT FROM '{}'))
    EXECUTE FUNCTION storage.forget_hidden();
