-- What an app mails, by name and language: subject and bodies with places for values.
CREATE TABLE notifications.mail_templates (
    space integer NOT NULL REFERENCES notifications.spaces,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
    -- A language tag (BCP 47) in small letters.
    language text NOT NULL CHECK (length(language) BETWEEN 2 AND 35),
    subject text NOT NULL,
    body_text text NOT NULL,
    body_html text,
    author text NOT NULL,
    updated timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space, name, language)
);

-- A mail to one person, and what became of it.
CREATE TABLE notifications.mails (
    -- By time; also left of the @ in Message-ID, so that a mail that is handed in twice can be known as one.
    id uuid PRIMARY KEY,
    space integer NOT NULL REFERENCES notifications.spaces,
    author text NOT NULL,
    -- What was ordered with it before gives the same mails again: an Idempotency-Key, or the change a rule acted on.
    origin text,
    -- Of the request behind an Idempotency-Key: the same key with another one is refused.
    origin_digest bytea,
    -- Which of the order's recipients.
    number smallint NOT NULL DEFAULT 0,
    user_id text,
    -- Of a user it is found out when the mail is written.
    address text,
    -- NULL: about something the person did or has; nobody unsubscribes from it.
    topic text,
    template text,
    -- skipped: the person has unsubscribed. sent: the mail server has taken it; what becomes of it then nobody tells us.
    state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'sent', 'failed', 'skipped')),
    reason text,
    attempts smallint NOT NULL DEFAULT 0,
    -- What is to be written, sealed; gone as soon as the mail has left or never will.
    content bytea,
    created timestamptz NOT NULL DEFAULT now(),
    finished timestamptz,
    CHECK (user_id IS NOT NULL OR address IS NOT NULL),
    CHECK ((state = 'queued') = (finished IS NULL)),
    CHECK ((state = 'queued') = (content IS NOT NULL))
);
CREATE INDEX mails_list ON notifications.mails (space, id);
CREATE INDEX mails_created ON notifications.mails (space, created);
CREATE INDEX mails_origin ON notifications.mails (space, origin) WHERE origin IS NOT NULL;
CREATE INDEX mails_address ON notifications.mails (space, address, finished) WHERE address IS NOT NULL;
CREATE INDEX mails_user ON notifications.mails (space, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX mails_queued ON notifications.mails (created) WHERE state = 'queued';

-- Who wants no more mail about a topic.
CREATE TABLE notifications.unsubscribed (
    space integer NOT NULL REFERENCES notifications.spaces,
    address text NOT NULL,
    -- '*': all topics.
    topic text NOT NULL,
    -- Whose mail it was that they answered, if it went to a user.
    user_id text,
    since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space, address, topic)
);
CREATE INDEX unsubscribed_user ON notifications.unsubscribed (space, user_id) WHERE user_id IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON notifications.mail_templates, notifications.mails, notifications.unsubscribed TO martlet_notifications;
