import MartletHTTP

/// Parameters of many calls.
extension RouteParameter {
    static let appVersion: RouteParameter = .path("version", .string, "The version's number, such as 2.10.")
}
