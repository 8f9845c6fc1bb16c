-- What users report to the app's moderators.
CREATE TABLE _reports (
    -- Version 7, so in the order of creation.
    id uuid PRIMARY KEY,
    collection text NOT NULL,
    object text NOT NULL,
    reporter text NOT NULL,
    reason text NOT NULL,
    created timestamptz(3) NOT NULL DEFAULT now(),
    resolved timestamptz(3),
    resolution text,
    CONSTRAINT _reports_once UNIQUE (collection, object, reporter));
CREATE INDEX _reports_open ON _reports (id) WHERE resolved IS NULL;
CREATE INDEX _reports_reporter ON _reports (reporter, created);
CREATE INDEX _reports_resolved ON _reports (resolved) WHERE resolved IS NOT NULL;
