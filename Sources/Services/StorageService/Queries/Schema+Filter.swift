import MartletHTTP

extension Schema {
    static let flag: Schema = component("Flag", .oneOf("true", "false", "1", "0").defaulting(to: "false"))

    static let filter: Schema = component(
        "Filter",
        .object(
            [
                "$and": .filters,
                "$or": .filters,
                "$nor": .filters,
                "$relatedTo": .object,
            ]).examples(["name": "tim", "age": ["$gte": 18]]).keyword(
                "additionalProperties",
                .anyOf(
                    .operators,
                    .any.described("The value that the field must equal."))
            ).described(
                """
                Fields, each with the value that it must equal or with operators. All members must match. `$and`, \
                `$or` and `$nor` take lists of filters. [Queries](../api/queries.md#filters) describes the operators. A filter may have at most \
                8 levels, 100 conditions, 100 values in a list, 10 patterns and 4 queries of other objects.
                """))

    static let filters: Schema = component("Filters", .array(of: .filter).minItems(1))

    static let operators: Schema = component(
        "Operators",
        .object(
            [
                "$eq": .any,
                "$ne": .any,
                "$gt": .comparable,
                "$gte": .comparable,
                "$lt": .comparable,
                "$lte": .comparable,
                "$in": .array.maxItems(100),
                "$nin": .array.maxItems(100),
                "$exists": .boolean,
                "$regex": .string.maxLength(1_000),
                "$options": .string,
                "$all": .array.maxItems(100),
                "$containedBy": .array.maxItems(100),
                "$text": .object,
                "$nearSphere": .object,
                "$maxDistance": .number.minimum(0),
                "$maxDistanceInRadians": .number.minimum(0),
                "$maxDistanceInKilometers": .number.minimum(0),
                "$maxDistanceInMiles": .number.minimum(0),
                "$within": .object,
                "$geoWithin": .object,
                "$geoIntersects": .object,
                "$inQuery": .object,
                "$notInQuery": .object,
                "$select": .object,
                "$dontSelect": .object,
            ]).closed.keyword("minProperties", 1))

    static let comparable: Schema = component(
        "Comparable",
        .types("number", "string", "boolean", "object").described(
            "A number, a string, a boolean, a Date, or `{\"$relativeTime\":\"2 days ago\"}`."))
}
