-- Messages are served in turn: what is due of one, the oldest first.
DROP INDEX notifications.deliveries_queued;
CREATE INDEX deliveries_queued ON notifications.deliveries (message, due) WHERE state = 'queued';

-- FALSE: something of it may be queued or under way still.
ALTER TABLE notifications.messages ADD COLUMN is_settled boolean NOT NULL DEFAULT FALSE;
CREATE INDEX messages_unsettled ON notifications.messages (id) WHERE NOT is_settled;

-- What became of a message's deliveries, by its texts (A/B), so that nobody has to count a million rows.
CREATE TABLE notifications.delivery_counts (
    message uuid NOT NULL REFERENCES notifications.messages ON DELETE CASCADE,
    variant smallint NOT NULL DEFAULT 0,
    accepted integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    unknown integer NOT NULL DEFAULT 0,
    cancelled integer NOT NULL DEFAULT 0,
    opened integer NOT NULL DEFAULT 0,
    PRIMARY KEY (message, variant)
);

-- Badges are counted in place.
ALTER TABLE notifications.installations SET (fillfactor = 85);

GRANT SELECT, INSERT, UPDATE, DELETE ON notifications.delivery_counts TO martlet_notifications;
