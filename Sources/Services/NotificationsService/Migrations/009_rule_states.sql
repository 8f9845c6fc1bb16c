-- Rules that cannot go on say so, and how often they act is counted by when things happened.

-- Copies of the service that are alive: the spaces that one follows are its own until then.
CREATE TABLE notifications.rule_copies (
    copy uuid PRIMARY KEY,
    until timestamptz NOT NULL
);

-- Since when, and why, the changes of a space cannot be acted on.
ALTER TABLE notifications.rule_feeds ADD COLUMN stuck_since timestamptz, ADD COLUMN stuck_reason text;

-- The same of one rule, on a schedule, and when it is tried again; how often a rule acted since `hour_start`.
ALTER TABLE notifications.rules
    ADD COLUMN stuck_since timestamptz,
    ADD COLUMN stuck_reason text,
    ADD COLUMN retry timestamptz,
    ADD COLUMN hour_start timestamptz NOT NULL DEFAULT '-infinity',
    ADD COLUMN hour_count integer NOT NULL DEFAULT 0;

-- How often rules acted on an object lately, by when it was written.
CREATE TABLE notifications.rule_objects (
    space integer NOT NULL,
    rule text NOT NULL,
    -- `Collection/id`.
    object text NOT NULL,
    minute_start timestamptz NOT NULL,
    minute_count integer NOT NULL,
    hour_start timestamptz NOT NULL,
    hour_count integer NOT NULL,
    touched timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space, rule, object),
    FOREIGN KEY (space, rule) REFERENCES notifications.rules ON DELETE CASCADE
);
CREATE INDEX rule_objects_touched ON notifications.rule_objects (touched);

-- The first of the mails that a run ordered, and how many.
ALTER TABLE notifications.rule_runs ADD COLUMN mail uuid, ADD COLUMN mails integer;

GRANT SELECT, INSERT, UPDATE, DELETE ON notifications.rule_copies, notifications.rule_objects TO martlet_notifications;
