import MartletHTTP

/// Parameters of many calls.
extension RouteParameter {
    static let collection: RouteParameter = .path(
        "collection", .collectionName,
        "The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved.")
    static let hookName: RouteParameter = .path(
        "name", .string, "The hook's name: a letter, then up to 62 letters, digits, `_` or `-`.")
}
