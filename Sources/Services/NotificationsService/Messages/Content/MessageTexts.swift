import MartletCore

/// What a person reads of a message. What one language or variant does not say is taken from the one behind it.
struct MessageTexts: Sendable, Equatable {
    var title: String?
    var subtitle: String?
    var body: String?

    static let names = ["title", "subtitle", "body"]

    init(title: String? = nil, subtitle: String? = nil, body: String? = nil) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
    }

    var isEmpty: Bool { title == nil && subtitle == nil && body == nil }

    /// With what is missing taken from others.
    func over(_ others: MessageTexts) -> MessageTexts {
        MessageTexts(title: title ?? others.title, subtitle: subtitle ?? others.subtitle, body: body ?? others.body)
    }

    var members: [JSONValue.Member] {
        [("title", title), ("subtitle", subtitle), ("body", body)].compactMap { name, text in
            text.map { .init(name, .string($0)) }
        }
    }
}

/// One of the texts that are tried against each other (A/B): who gets which is settled by message and installation.
struct MessageVariant: Sendable, Equatable {
    var name: String
    /// Its share, beside those of the others.
    var weight = 1
    var texts = MessageTexts()
    var localized: [LanguageTag: MessageTexts] = [:]
}

/// What the icon is to show.
enum MessageBadge: Sendable, Equatable {
    /// 0 takes it away.
    case number(Int)
    /// One more than the server knows of the installation.
    case increment
}

enum MessagePriority: String, Sendable, CaseIterable {
    /// At once.
    case high
    /// When it suits the device.
    case normal
    /// The battery before all else.
    case low
}
