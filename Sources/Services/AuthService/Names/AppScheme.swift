/// Schemes of addresses by which people are sent on to an app.
enum AppScheme {
    private static let taken: Set<String> = [
        "http", "javascript", "data", "file", "vbscript", "about", "blob", "mailto", "tel", "sms", "ftp", "ws", "wss",
        "view-source", "intent", "content",
    ]

    /// Whether a browser or a phone would take such an address for something else than an app; it may be `https`.
    static func isTaken(_ scheme: String) -> Bool { taken.contains(scheme) }
}
