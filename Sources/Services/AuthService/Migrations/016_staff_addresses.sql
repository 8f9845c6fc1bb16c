-- Where mail of the server reaches a staff member, in lower case; NULL: at the address they sign in with, if they do with one.
ALTER TABLE auth.staff ADD COLUMN email text CHECK (octet_length(email) BETWEEN 3 AND 254);
