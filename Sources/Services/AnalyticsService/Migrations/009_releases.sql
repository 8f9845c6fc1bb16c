-- When somebody said that a release is out; NULL: nobody did.
ALTER TABLE analytics.releases ADD COLUMN released timestamptz;
