-- Staff sign in by OpenID Connect issuers, too. Theirs are among the identity providers as those of no app: the empty id, which no app can have.
ALTER TABLE auth.identity_providers DROP CONSTRAINT identity_providers_app_id_fkey;

-- Who staff are elsewhere, as an administrator has said.
CREATE TABLE auth.staff_identities (
    staff_id uuid NOT NULL REFERENCES auth.staff (id) ON DELETE CASCADE,
    -- The name of the provider. The issuer is part of it: a provider that is set up anew under an old name opens no account of the old one.
    provider text NOT NULL,
    issuer text NOT NULL CHECK (length(issuer) BETWEEN 1 AND 2048),
    -- NULL: whoever first comes with the address, verified. From then on the subject alone counts.
    subject text CHECK (length(subject) BETWEEN 1 AND 255),
    email text CHECK (length(email) <= 254),
    created timestamptz NOT NULL DEFAULT now(),
    last_used timestamptz,
    CONSTRAINT staff_identities_pkey PRIMARY KEY (staff_id, provider),
    CONSTRAINT staff_identities_subject UNIQUE (provider, issuer, subject),
    CONSTRAINT staff_identities_email UNIQUE (provider, issuer, email),
    CHECK (subject IS NOT NULL OR email IS NOT NULL)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.staff_identities TO martlet_auth;

-- How many sign-ins in vain the log has within the last hour.
CREATE INDEX audit_log_failures ON auth.audit_log (at) WHERE action = 'sign-in-failed';
