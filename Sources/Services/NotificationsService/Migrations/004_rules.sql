-- What sends messages by itself.
CREATE TABLE notifications.rules (
    space integer NOT NULL REFERENCES notifications.spaces,
    name text NOT NULL,
    rule jsonb NOT NULL,
    is_enabled boolean NOT NULL DEFAULT TRUE,
    author text NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    updated timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space, name)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON notifications.rules TO martlet_notifications;
