-- What the rules of each collection have been, the newest versions. A row is never changed.
CREATE TABLE _rule_versions (
    collection text NOT NULL,
    number bigint NOT NULL,
    at timestamptz(3) NOT NULL DEFAULT now(),
    -- The kind and id of the credential that set them; NULL for rules from before versions were kept.
    author text,
    rules jsonb NOT NULL,
    PRIMARY KEY (collection, number));
