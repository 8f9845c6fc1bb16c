import MartletHTTP

/// Parameters of several calls.
extension RouteParameter {
    static let sentryOrganization: RouteParameter = .path("organization", .string, "Any name is accepted.")
    static let sentryProject: RouteParameter = .path("project", .string, "The app's number or id.")
    static let release: RouteParameter = .path("version", .string, "The name of the release, as in reports.")
    static let issue: RouteParameter = .path("issue", .integer.minimum(1), "The number of the issue.")
}
