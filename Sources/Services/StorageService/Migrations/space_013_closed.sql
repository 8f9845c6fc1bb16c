-- Clients are kept out of the environment while there is a row: after a copy of live data, until the app opens it.
CREATE TABLE _closed (
    since timestamptz(3) NOT NULL DEFAULT now());
