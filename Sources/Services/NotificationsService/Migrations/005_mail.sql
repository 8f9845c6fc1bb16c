-- Who wants no more mail of a kind.
CREATE TABLE notifications.unsubscribed (
    space integer NOT NULL REFERENCES notifications.spaces,
    address text NOT NULL,
    topic text NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space, address, topic)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON notifications.unsubscribed TO martlet_notifications;
