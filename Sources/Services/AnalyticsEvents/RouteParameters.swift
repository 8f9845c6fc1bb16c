import MartletHTTP

/// Parameters of several calls.
extension RouteParameter {
    static let firstDay: RouteParameter = .query("from", .day, "The first day; by default 29 days before `to`.")
    static let lastDay: RouteParameter = .query("to", .day, "The last day; by default today.")
    static let timeZone: RouteParameter = .query(
        "timeZone", .string, "A name of the IANA database; by default the app's time zone.")
    static let tableFormat: RouteParameter = .query("format", .oneOf("json", "csv").defaulting(to: "json"))
}
