-- By which secrets a device was opted out, SHA-256 each; an empty one stands for an opt-out without a secret, which the app's server alone ends. Empty for
-- accounts: those are opted out and in by who is signed in.
ALTER TABLE analytics.people ADD COLUMN opt_outs bytea[] NOT NULL DEFAULT '{}';
-- Of those that are there nobody can show a secret. For an account it makes no difference.
UPDATE analytics.people SET opt_outs = ARRAY[''::bytea] WHERE opted_out IS NOT NULL;
