-- The object as it was when it was reported. NULL if it was too large, or its author's account was deleted.
ALTER TABLE _reports ADD COLUMN IF NOT EXISTS copy jsonb;
