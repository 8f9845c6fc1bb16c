-- The lists of readers and writers that the object had before a moderator hid it. NULL: not hidden by this report.
ALTER TABLE _reports ADD COLUMN hidden jsonb;
