import MartletCore

/// The texts that a person reads. Missing texts of a language or variant are taken from its fallback.
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

    /// Fills missing texts from `others`.
    func over(_ others: MessageTexts) -> MessageTexts {
        MessageTexts(title: title ?? others.title, subtitle: subtitle ?? others.subtitle, body: body ?? others.body)
    }

    var members: [JSONValue.Member] {
        [("title", title), ("subtitle", subtitle), ("body", body)].compactMap { name, text in
            text.map { .init(name, .string($0)) }
        }
    }
}

/// A variant of an A/B test. Message and installation determine which one is sent.
struct MessageVariant: Sendable, Equatable {
    var name: String
    /// The share relative to the weights of the other variants.
    var weight = 1
    var texts = MessageTexts()
    var localized: [LanguageTag: MessageTexts] = [:]
}

/// The badge number of the app's icon.
enum MessageBadge: Sendable, Equatable {
    /// 0 removes the badge.
    case number(Int)
    /// One more than the installation's badge as known to the server.
    case increment
}

enum MessagePriority: String, Sendable, CaseIterable {
    /// Immediately.
    case high
    /// When convenient for the device.
    case normal
    /// Saving battery takes precedence.
    case low
}
