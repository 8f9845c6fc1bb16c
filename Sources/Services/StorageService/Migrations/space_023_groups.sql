-- Roles that users manage themselves.

-- Who may change the members of a role: users' ids, and `role:<name>` for the members of a role.
CREATE TABLE _role_managers (
    role text NOT NULL REFERENCES _roles ON DELETE CASCADE,
    manager text NOT NULL,
    PRIMARY KEY (role, manager));
CREATE INDEX _role_managers_manager ON _role_managers (manager);

-- Codes by which users become members.
CREATE TABLE _role_invitations (
    id uuid PRIMARY KEY,
    role text NOT NULL REFERENCES _roles ON DELETE CASCADE,
    -- SHA-256 of the code.
    digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
    -- NULL: the app's server.
    inviter text,
    uses integer NOT NULL,
    uses_left integer NOT NULL CHECK (uses_left BETWEEN 0 AND uses),
    expires timestamptz(3) NOT NULL,
    created timestamptz(3) NOT NULL DEFAULT now());
CREATE INDEX _role_invitations_role ON _role_invitations (role, id);
CREATE INDEX _role_invitations_inviter ON _role_invitations (inviter);
CREATE INDEX _role_invitations_expires ON _role_invitations (expires);

-- How many codes a user has tried in vain since a time.
CREATE TABLE _role_guesses (
    member text PRIMARY KEY,
    failures integer NOT NULL DEFAULT 1,
    since timestamptz(3) NOT NULL DEFAULT now());
CREATE INDEX _role_guesses_since ON _role_guesses (since);
