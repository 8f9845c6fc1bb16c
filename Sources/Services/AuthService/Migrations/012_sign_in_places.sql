-- Where users have signed in by a password, by HMAC-SHA-256 of the address under a key that only the processes have: guesses made elsewhere keep
-- nobody waiting there.
CREATE TABLE auth.sign_in_places (
    user_id uuid NOT NULL REFERENCES auth.users (id) ON DELETE CASCADE,
    place bytea NOT NULL CHECK (length(place) = 32),
    last_used timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, place)
);
CREATE INDEX sign_in_places_last_used ON auth.sign_in_places (last_used);

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.sign_in_places TO martlet_auth;

-- Any language that RFC 5646 §2.1 can name, as elsewhere; in small letters.
ALTER TABLE auth.mail_templates DROP CONSTRAINT mail_templates_language_check;
ALTER TABLE auth.mail_templates ADD CONSTRAINT mail_templates_language_check
    CHECK (length(language) <= 35 AND language ~ '^[a-z]{2,8}(-[a-z0-9]{1,8})*$');
