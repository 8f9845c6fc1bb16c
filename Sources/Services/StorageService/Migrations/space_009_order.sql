-- What acts on changes reads them in their order, a page at a time, however many have come together meanwhile.
CREATE INDEX _changes_order ON _changes (collection, seq);
