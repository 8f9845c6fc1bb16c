import MartletHTTP

/// Parameters of many calls.
extension RouteParameter {
    static let ruleName: RouteParameter = .path("name", .string.pattern(#"^[A-Za-z][A-Za-z0-9_-]{0,63}$"#))
    static let installationSecret: RouteParameter = .header(
        "Installation-Secret", .string.length(43, 43),
        "The installation's secret: 32 random bytes in base64url, chosen by the app.",
        isRequired: true)
}
