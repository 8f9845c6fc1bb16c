-- Where clients may have browsers sent that were signed out (OpenID Connect RP-Initiated Logout 1.0 §3.1).
ALTER TABLE auth.clients
    ADD COLUMN post_logout_redirect_uris text[] NOT NULL DEFAULT '{}' CHECK (cardinality(post_logout_redirect_uris) <= 20);
