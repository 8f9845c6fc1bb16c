/// URL schemes that lead to an app.
enum AppScheme {
    private static let reserved: Set<String> = [
        "http", "javascript", "data", "file", "vbscript", "about", "blob", "mailto", "tel", "sms", "ftp", "ws", "wss",
        "view-source", "intent", "content",
    ]

    /// Whether browsers or phones use the scheme for something other than an app. False for `https`, whose URLs may
    /// lead to an app.
    static func isReserved(_ scheme: String) -> Bool { reserved.contains(scheme) }
}
