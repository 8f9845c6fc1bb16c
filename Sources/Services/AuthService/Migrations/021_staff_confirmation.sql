-- When the member last proved who they are in this session: what cannot be undone asks for it again after ten minutes.
-- Sessions that are open now have not been confirmed.
ALTER TABLE auth.staff_sessions ADD COLUMN confirmed timestamptz NOT NULL DEFAULT 'epoch';
ALTER TABLE auth.staff_sessions ALTER COLUMN confirmed SET DEFAULT now();
