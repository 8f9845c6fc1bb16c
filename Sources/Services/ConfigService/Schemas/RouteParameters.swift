import Hummingbird
import MartletHTTP

/// Parameters of many calls.
extension RouteParameter {
    /// All calls that clients repeat after an event have it, so that no copy of the service answers them with the
    /// state before the event.
    static let generation: RouteParameter = .query(
        "generation", .integer.minimum(0),
        "The id of the change event that caused the request; the answer waits up to two seconds to be as new.")
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

extension Request {
    /// The value of `RouteParameter.generation`; 0 without one.
    ///
    /// - Throws: `invalid-parameter`.
    var generation: Int64 { get throws { Int64(try number("generation", default: 0, in: 0...Int.max)) } }
}
