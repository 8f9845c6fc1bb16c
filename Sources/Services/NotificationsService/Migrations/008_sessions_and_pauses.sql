-- The user's session that signed the installation in: when it ends, so does that. NULL where it is not known, as of who signed in before there was this
-- column: that ends with any session of the user's, until the app next says anything.
ALTER TABLE notifications.installations ADD COLUMN session_id uuid;

-- A message that goes on after a pause, of which what waits gets its times anew first: until that is done it stays paused. And up to which installation
-- it is done.
ALTER TABLE notifications.messages ADD COLUMN is_resuming boolean NOT NULL DEFAULT FALSE;
ALTER TABLE notifications.messages ADD COLUMN resumed_to uuid;
