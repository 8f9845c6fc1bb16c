-- What analytics was asked of a metric, as JSON: sums of another question are not of the metric any more. NULL: they were sent, or are older.
ALTER TABLE config.observations ADD COLUMN question text;
-- Whom analytics saw of the experiment by then: {"units":{"<variation>":n},"multipleExposures":n}.
ALTER TABLE config.observations ADD COLUMN seen text;
