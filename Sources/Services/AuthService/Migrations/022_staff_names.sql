ALTER TABLE auth.staff ADD COLUMN first_name text, ADD COLUMN last_name text;
