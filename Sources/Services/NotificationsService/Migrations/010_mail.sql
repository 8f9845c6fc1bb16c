-- When a mail that waits is tried, or tried again.
ALTER TABLE notifications.mails ADD COLUMN due timestamptz NOT NULL DEFAULT now();
CREATE INDEX mails_due ON notifications.mails (space, due, id) WHERE state = 'queued';
-- A space's mails have one job that sends what is due of them; what waited with a job of its own is found by that.
DELETE FROM notifications.jobs WHERE kind = 'notifications.mail.send' AND state = 'waiting';

-- suppressed: what was sent there before came back for good, or its reader complained.
ALTER TABLE notifications.mails DROP CONSTRAINT mails_state_check;
ALTER TABLE notifications.mails ADD CONSTRAINT mails_state_check CHECK (state IN ('queued', 'sent', 'failed', 'skipped', 'suppressed'));
-- What came back of it later, as somebody told.
ALTER TABLE notifications.mails
    ADD COLUMN bounce text CHECK (bounce IN ('hard', 'soft', 'complaint')),
    ADD COLUMN bounce_reason text,
    ADD COLUMN bounced timestamptz,
    ADD CHECK ((bounce IS NULL) = (bounced IS NULL));

-- Somebody unsubscribes as the person they are, and for the address that was written to: each says so for itself, as an address changes hands.
ALTER TABLE notifications.unsubscribed DROP CONSTRAINT unsubscribed_pkey;
CREATE UNIQUE INDEX unsubscribed_who ON notifications.unsubscribed (space, address, topic, coalesce(user_id, ''));

-- Addresses that an app no longer writes to.
CREATE TABLE notifications.mail_suppressed (
    space integer NOT NULL REFERENCES notifications.spaces,
    address text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('hard', 'complaint')),
    reason text,
    -- Whose mail it was that came back, and which.
    user_id text,
    mail uuid,
    since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space, address)
);
CREATE INDEX mail_suppressed_user ON notifications.mail_suppressed (space, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX mail_suppressed_since ON notifications.mail_suppressed (space, since);

-- What holds on for addresses that were erased: from a digest under a key that is not in the database nobody reads an address.
CREATE TABLE notifications.mail_forgotten (
    space integer NOT NULL REFERENCES notifications.spaces,
    digest text NOT NULL CHECK (length(digest) = 43),
    kind text NOT NULL CHECK (kind IN ('unsubscribed', 'suppressed')),
    -- Of one who has unsubscribed; else ''.
    topic text NOT NULL,
    PRIMARY KEY (space, digest, kind, topic)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON notifications.mail_suppressed, notifications.mail_forgotten TO martlet_notifications;
