-- For the history of one object, or of everything in a collection. Not the whole target, which may be too long for an index.
CREATE INDEX audit_log_target ON auth.audit_log (left(target, 256) COLLATE "C", number);
