-- FALSE: the member was created by signing in at a provider, and nobody knows the password. Members from before this
-- migration count as having one.
ALTER TABLE auth.staff ADD COLUMN has_password boolean NOT NULL DEFAULT TRUE;
