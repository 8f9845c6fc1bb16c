-- Who wrote: what acts on changes can leave out the one who made them.

-- The user's id; NULL for the app's own server, for who is not signed in, and for what was written before.
ALTER TABLE _changes ADD COLUMN actor text;
