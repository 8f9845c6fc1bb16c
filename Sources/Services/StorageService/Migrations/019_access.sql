-- What clients may do without a rule, for each space: `open` everything, `closed` nothing. NULL stands for the default
-- of the environment: closed in live, open in test. Spaces from before stay open. The column is here and not in the
-- space, so that a version of the service that does not know it also makes new spaces with the default.
ALTER TABLE storage.spaces ADD COLUMN access text CHECK (access IN ('closed', 'open'));
UPDATE storage.spaces SET access = 'open';
