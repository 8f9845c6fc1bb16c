-- By which push service the device was reached when the message was planned, so that claims leave alone what is for one whose credential is held.
-- '': not known, planned by a version before this one; it is claimed like the rest.
ALTER TABLE notifications.deliveries ADD COLUMN service text NOT NULL DEFAULT '';
-- How often it was claimed. It only ever grows, whatever counts as an attempt: whoever has lost a delivery writes nothing of it any more.
ALTER TABLE notifications.deliveries ADD COLUMN claims integer NOT NULL DEFAULT 0;

DROP INDEX notifications.deliveries_queued;
CREATE INDEX deliveries_queued ON notifications.deliveries (message, service, due) WHERE state = 'queued';

-- A queue: each row is written two more times within seconds of its making, and then rests for months. What the writes leave behind is a share of what is
-- under way, not of what is kept: with the usual fifth of the table a million dead rows would lie in the partial indexes before anybody swept, and every
-- claim would step over them. So it is swept after some ten thousand changes and one in a hundred rows, and fast, as claims wait for it. Half of each page
-- is left to what a row becomes: its next version takes the place beside the old one, and the one after that the old one's. Measured with 100,000 rows
-- claimed and written by the thousand: 105 MB of log instead of 124, and 29 MB of table in the end instead of 40.
ALTER TABLE notifications.deliveries SET (
    fillfactor = 50,
    autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_insert_threshold = 50000, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_threshold = 10000, autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_limit = 2000
);
-- A few rows that every write of results changes: none of their columns is in an index, so with room in the page no version is left to a sweep.
ALTER TABLE notifications.delivery_counts SET (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);

-- When one message is sent with it to see whether it is good again, although it is broken; NULL: not before somebody acts.
ALTER TABLE notifications.credentials ADD COLUMN next_try timestamptz;
UPDATE notifications.credentials SET next_try = now() WHERE broken IS NOT NULL AND kind <> 'smtp' AND broken_reason NOT LIKE 'Too many tokens are bad%';
