-- When the member last proved who they are in this session: what cannot be undone asks for it again after ten minutes.
ALTER TABLE auth.staff_sessions ADD COLUMN confirmed timestamptz NOT NULL DEFAULT now();
