import MartletHTTP

/// Parameters of several calls.
extension RouteParameter {
    static let ticket: RouteParameter = .path(
        "ticket", .string, "The number of the ticket, or its key such as `APP-12`.")
}
