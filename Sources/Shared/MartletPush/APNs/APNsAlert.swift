import MartletCore

/// The visible part of a notification. Title, subtitle and body are each a text, or the key of a localized string of
/// the app with its arguments.
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

    /// Always a dictionary: it is the only form in which watchOS and service extensions can distinguish title and body.
    var json: JSONValue {
        .object(
            JSONValue.member("title", title) + JSONValue.member("subtitle", subtitle) + JSONValue.member("body", body)
                + JSONValue.member("launch-image", launchImage) + JSONValue.member("title-loc-key", titleKey)
                + JSONValue.member("title-loc-args", titleArguments) + JSONValue.member("subtitle-loc-key", subtitleKey)
                + JSONValue.member("subtitle-loc-args", subtitleArguments) + JSONValue.member("loc-key", bodyKey)
                + JSONValue.member("loc-args", bodyArguments))
    }
}

/// The sound of a notification.
public enum APNsSound: Sendable, Equatable {
    /// `default`, or the name of a sound file in the app.
    case named(String)
    /// Also plays while the device is muted, if Apple has granted the app this right. `volume` ranges from 0 to 1.
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
