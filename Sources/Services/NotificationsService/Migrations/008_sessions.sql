-- The user's session that signed the installation in: when it ends, so does that. NULL where it is not known, as of who signed in before there was this
-- column: that ends with any session of the user's, until the app next says anything.
ALTER TABLE notifications.installations ADD COLUMN session_id uuid;
