-- Whom users have blocked.
CREATE TABLE _blocks (
    member text NOT NULL,
    blocked text NOT NULL,
    created timestamptz(3) NOT NULL DEFAULT now(),
    PRIMARY KEY (member, blocked));
CREATE INDEX _blocks_blocked ON _blocks (blocked, member);
