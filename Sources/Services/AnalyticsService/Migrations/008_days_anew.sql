-- Days that are made anew in another time zone, step by step: what was received from `again_from` until before `again_to` is not yet in those from
-- `again_day` on (since 1970). NULL: they are complete.
ALTER TABLE analytics.rolled_spaces ADD COLUMN again_from timestamptz, ADD COLUMN again_to timestamptz, ADD COLUMN again_day integer;
