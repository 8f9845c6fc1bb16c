import MartletHTTP

/// Parameters of many calls.
extension RouteParameter {
    static let sentryOrganization: RouteParameter = .path("organization", .string, "Any name is accepted.")
    static let sentryProject: RouteParameter = .path("project", .string, "The app's number or id.")
    static let release: RouteParameter = .path("version", .string, "The name of the release, as in reports.")
    static let issue: RouteParameter = .path("issue", .integer.minimum(1), "The number of the issue.")
    static let firstDay: RouteParameter = .query("from", .day, "The first day; by default 29 days before `to`.")
    static let lastDay: RouteParameter = .query("to", .day, "The last day; by default today.")
    static let timeZone: RouteParameter = .query(
        "timeZone", .string, "A name of the IANA database; by default the app's time zone.")
    static let tableFormat: RouteParameter = .query("format", .oneOf("json", "csv").defaulting(to: "json"))
    static let ticket: RouteParameter = .path(
        "ticket", .string, "The number of the ticket, or its key such as `APP-12`.")
}
