-- What filters and indexes need beyond PostgreSQL's own functions. None of them fails on a value it does not fit: it answers NULL, so
-- that an index on it never refuses a write.

-- Trusted: whoever may create in the database may make it. Its types and operators stand in this schema, which every app's role may use.
CREATE EXTENSION IF NOT EXISTS cube WITH SCHEMA storage;

-- A place on the unit sphere. The straight distance between two grows with the great-circle distance: order and radius are exact,
-- also around the poles and the 180th meridian, and a GiST index serves them.
CREATE FUNCTION storage.unit(latitude float8, longitude float8) RETURNS storage.cube
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $function$
    SELECT storage.cube(ARRAY[
        cos(radians(latitude)) * cos(radians(longitude)), cos(radians(latitude)) * sin(radians(longitude)), sin(radians(latitude))])
$function$;

-- The place of a GeoPoint; NULL for anything else.
CREATE FUNCTION storage.sphere(value jsonb) RETURNS storage.cube
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
    SELECT CASE WHEN jsonb_typeof(value->'latitude') = 'number' AND jsonb_typeof(value->'longitude') = 'number' THEN
        CASE WHEN (value->'latitude')::numeric BETWEEN -90 AND 90 AND (value->'longitude')::numeric BETWEEN -180 AND 180 THEN
            storage.unit(round((value->'latitude')::numeric, 12)::float8, round((value->'longitude')::numeric, 12)::float8)
        END
    END
$function$;

-- The same on a map of longitude and latitude.
CREATE FUNCTION storage.plane(value jsonb) RETURNS point
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
    SELECT CASE WHEN jsonb_typeof(value->'latitude') = 'number' AND jsonb_typeof(value->'longitude') = 'number' THEN
        CASE WHEN (value->'latitude')::numeric BETWEEN -90 AND 90 AND (value->'longitude')::numeric BETWEEN -180 AND 180 THEN
            point(round((value->'longitude')::numeric, 12)::float8, round((value->'latitude')::numeric, 12)::float8)
        END
    END
$function$;

-- The area of a Polygon ([latitude, longitude] each) on that map; NULL for anything else.
CREATE FUNCTION storage.area(value jsonb) RETURNS polygon
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
    SELECT CASE WHEN jsonb_typeof(value->'coordinates') = 'array' THEN (
        SELECT CASE WHEN count(*) >= 3 AND bool_and(text IS NOT NULL) THEN ('(' || string_agg(text, ',' ORDER BY position) || ')')::polygon END
        FROM (
            SELECT position, CASE WHEN jsonb_typeof(pair->0) = 'number' AND jsonb_typeof(pair->1) = 'number' THEN
                CASE WHEN (pair->0)::numeric BETWEEN -90 AND 90 AND (pair->1)::numeric BETWEEN -180 AND 180 THEN
                    '(' || round((pair->1)::numeric, 12) || ',' || round((pair->0)::numeric, 12) || ')' END END AS text
            FROM jsonb_array_elements(value->'coordinates') WITH ORDINALITY AS each (pair, position)) AS pairs)
    END
$function$;

-- The words of a text, of a list of texts, or of every text in an object, for full-text search. What is longer than PostgreSQL's limit
-- for one row is searched by its beginning.
CREATE FUNCTION storage.words(language regconfig, value jsonb) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
    SELECT CASE jsonb_typeof(value)
        WHEN 'string' THEN to_tsvector(language, left(value #>> '{}', 100000))
        WHEN 'array' THEN CASE WHEN octet_length(value::text) <= 200000 THEN jsonb_to_tsvector(language, value, '["string"]')
            ELSE to_tsvector(language, left(value::text, 100000)) END
        WHEN 'object' THEN CASE WHEN octet_length(value::text) <= 200000 THEN jsonb_to_tsvector(language, value, '["string"]')
            ELSE to_tsvector(language, left(value::text, 100000)) END
    END
$function$;

-- The smallest and greatest of values that are there, in the order of `jsonb`.
CREATE FUNCTION storage.lesser(one jsonb, other jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $function$ SELECT CASE WHEN other < one THEN other ELSE one END $function$;
CREATE FUNCTION storage.greater(one jsonb, other jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $function$ SELECT CASE WHEN other > one THEN other ELSE one END $function$;
CREATE AGGREGATE storage.smallest(jsonb) (sfunc = storage.lesser, stype = jsonb, combinefunc = storage.lesser, parallel = safe);
CREATE AGGREGATE storage.greatest(jsonb) (sfunc = storage.greater, stype = jsonb, combinefunc = storage.greater, parallel = safe);
