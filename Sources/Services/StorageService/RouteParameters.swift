import MartletHTTP

/// Parameters of many calls.
extension RouteParameter {
    static let ifMatch: RouteParameter = .header(
        "If-Match", .string, "The `ETag` that the object must have, or a list of them.")
    static let ifNoneMatch: RouteParameter = .header(
        "If-None-Match", .string, "The `ETag` of an earlier answer; the answer is 304 if it is still the object's.")
    static let mustBeNew: RouteParameter = .header(
        "If-None-Match", .string, "`*`: the `_id` must not exist yet.")
    static let idempotencyKey: RouteParameter = .header(
        "Idempotency-Key", .string.maxLength(255),
        "A request that is repeated with the same key within a day is carried out once and gets the same answer.")
    static let collection: RouteParameter = .path(
        "collection", .collectionName,
        "The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved.")
    static let hookName: RouteParameter = .path(
        "name", .string, "The hook's name: a letter, then up to 62 letters, digits, `_` or `-`.")
}
