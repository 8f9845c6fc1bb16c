-- How many messages of other users a user or channel was sent lately, by template: each row is one span of time.
CREATE TABLE notifications.client_receipts (
    space integer NOT NULL REFERENCES notifications.spaces,
    template text NOT NULL,
    -- 'user:' or 'channel:' and the id or name.
    recipient text NOT NULL,
    -- When the span began.
    since timestamptz NOT NULL,
    count integer NOT NULL,
    PRIMARY KEY (space, recipient, template)
);
CREATE INDEX client_receipts_since ON notifications.client_receipts (since);

GRANT SELECT, INSERT, UPDATE, DELETE ON notifications.client_receipts TO martlet_notifications;
