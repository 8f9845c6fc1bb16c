import MartletCore

/// What is shown. A text, or the key of one in the app's own strings with what is put into it.
public struct APNsAlert: Sendable, Equatable {
    public var title: String?
    public var subtitle: String?
    public var body: String?
    public var launchImage: String?
    public var titleKey: String?
    public var titleArguments: [String] = []
    public var subtitleKey: String?
    public var subtitleArguments: [String] = []
    public var bodyKey: String?
    public var bodyArguments: [String] = []

    public init(title: String? = nil, subtitle: String? = nil, body: String? = nil) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
    }

    /// Always the dictionary: watchOS and service extensions tell titles from bodies in nothing else.
    var json: JSONValue {
        .object(
            JSONValue.member("title", title) + JSONValue.member("subtitle", subtitle) + JSONValue.member("body", body)
                + JSONValue.member("launch-image", launchImage) + JSONValue.member("title-loc-key", titleKey)
                + JSONValue.member("title-loc-args", titleArguments) + JSONValue.member("subtitle-loc-key", subtitleKey)
                + JSONValue.member("subtitle-loc-args", subtitleArguments) + JSONValue.member("loc-key", bodyKey)
                + JSONValue.member("loc-args", bodyArguments))
    }
}

/// What is heard.
public enum APNsSound: Sendable, Equatable {
    /// `default`, or a file of the app.
    case named(String)
    /// Also when the device is muted, for apps that Apple allows it. `volume` goes from 0 to 1.
    case critical(name: String, volume: Double)

    var json: JSONValue {
        switch self {
        case .named(let name): .string(name)
        case .critical(let name, let volume):
            .object([
                .init("critical", .number("1")), .init("name", .string(name)),
                .init("volume", .number("\(volume.isFinite ? min(max(volume, 0), 1) : 1)")),
            ])
        }
    }
}
