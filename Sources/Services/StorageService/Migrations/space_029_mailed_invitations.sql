-- The address to which the code of an invitation was mailed. NULL: whoever created it got the code.
ALTER TABLE _role_invitations ADD COLUMN email text;
