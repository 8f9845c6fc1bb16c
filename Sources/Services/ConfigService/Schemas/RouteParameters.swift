import MartletHTTP

/// Parameters of many calls.
extension RouteParameter {
    static let experimentKind: RouteParameter = .path("kind", .oneOf("experiment"), "Only experiments have this call.")
    static let experimentName: RouteParameter = .path(
        "name", .string,
        "The experiment's name: 1 to 64 characters from `A-Z a-z 0-9 . _ -`, the first a letter or digit.")
    static let translationsName: RouteParameter = .path(
        "name", .string, "The app version, which is the document's name.")
    static let documentKind: RouteParameter = .path(
        "kind", .oneOf("configuration", "flags", "experiment", "translation", "definition"))
    static let documentName: RouteParameter = .path(
        "name", .string,
        """
        The document's name: 1 to 64 characters from `A-Z a-z 0-9 . _ -`, the first a letter or digit; or two \
        such names joined by `~`.
        """)
    static let definitionName: RouteParameter = .path(
        "name", .string,
        "The definition's name: 1 to 64 characters from `A-Z a-z 0-9 . _ -`, the first a letter or digit.")
}
